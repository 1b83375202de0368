// Calls the parser of nlohmann/json.
#include "runtime/Core/JsonEvents.h"

namespace dlc::runtime {
namespace {

using nlohmann::json;

/// Passes the events on. A type of this file alone, so that of the parser's code what reads binary
/// formats is left out: ten times as much as JSON takes.
struct Events {
  json::json_sax_t &to;

  bool null() { return to.null(); }
  bool boolean(bool value) { return to.boolean(value); }
  bool number_integer(int64_t value) { return to.number_integer(value); }
  bool number_unsigned(uint64_t value) { return to.number_unsigned(value); }
  bool number_float(double value, const std::string &text) { return to.number_float(value, text); }
  bool string(std::string &value) { return to.string(value); }
  bool binary(json::binary_t &value) { return to.binary(value); }
  bool start_object(size_t elements) { return to.start_object(elements); }
  bool key(std::string &value) { return to.key(value); }
  bool end_object() { return to.end_object(); }
  bool start_array(size_t elements) { return to.start_array(elements); }
  bool end_array() { return to.end_array(); }
  bool parse_error(size_t at, const std::string &token, const json::exception &error) {
    return to.parse_error(at, token, error);
  }
};

} // namespace

bool parseJson(std::string_view text, json::json_sax_t &reader) {
  Events events{reader};
  return json::sax_parse(text, &events);
}

} // namespace dlc::runtime
