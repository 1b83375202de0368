// Parsing JSON without making a tree of it: the one place in which the parser is, which is large.
#ifndef DLC_RUNTIME_CORE_JSONEVENTS_H
#define DLC_RUNTIME_CORE_JSONEVENTS_H

#include <nlohmann/json.hpp>

#include <string_view>

namespace dlc::runtime {

/// Tells `reader` what is in a text, of which a zero is the end. False for what is no JSON, and
/// where the reader said that it has heard enough.
bool parseJson(std::string_view text, nlohmann::json::json_sax_t &reader);

} // namespace dlc::runtime

#endif
