// A reader of abi.h by regular expressions.
#include "test/lib/AbiFields/AbiFields.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace dlc::test {
namespace {

[[noreturn]] void giveUp(const std::string &what) {
  std::fprintf(stderr, "abi.h: not understood: %s\n", what.c_str());
  std::abort();
}

using Matches = std::sregex_iterator;

std::string withoutComments(const std::string &text) {
  return std::regex_replace(text, std::regex(R"(/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)"), " ");
}

class Reader {
public:
  explicit Reader(const std::string &text) : text(text), code(withoutComments(text)) {}

  Abi read() {
    static const std::regex macro(R"(#define\s+(\w+)\s+(\d+)u?\s)"),
        structure(R"(typedef\s+struct\s+(\w+)\s*\{([^}]*)\}\s*(\w+)\s*;)"),
        table(R"((DLC_TABLE_\w+)\s*=\s*(\d+),?\s*/\*\s*(\w+))");
    for (Matches it(code.begin(), code.end(), macro), end; it != end; ++it)
      constants[it->str(1)] = std::stoull(it->str(2));
    for (Matches it(code.begin(), code.end(), structure), end; it != end; ++it)
      readStruct(it->str(1), it->str(2));
    for (Matches it(text.begin(), text.end(), table), end; it != end; ++it)
      abi.tables[static_cast<uint32_t>(std::stoul(it->str(2)))] = it->str(3);
    return std::move(abi);
  }

private:
  void readStruct(const std::string &name, const std::string &body) {
    AbiStruct made;
    std::stringstream declarations(body);
    for (std::string declaration; std::getline(declarations, declaration, ';');)
      if (!std::all_of(declaration.begin(), declaration.end(), ::isspace))
        readDeclaration(declaration, made);
    made.bytes = (made.bytes + made.alignment - 1) / made.alignment * made.alignment;
    abi.structs[name] = std::move(made);
  }

  /// "uint32_t a, b[N]", "dlc_type type", "const uint8_t *plan", "void (*fail)(...)"
  void readDeclaration(const std::string &declaration, AbiStruct &made) {
    static const std::regex pointer(R"(\*\s*(?:const\s+)?(\w+)\s*(?:$|\)))"),
        plain(R"(^\s*(\w+)\s+(.*)$)"), declarator(R"((\w+)\s*(?:\[\s*(\w+)\s*\])?)");
    std::smatch match;
    const std::string line = std::regex_replace(declaration, std::regex(R"(\s+)"), " ");
    if (std::regex_search(line, match, pointer) || line.find("_fn ") != std::string::npos) {
      const std::string name = match.empty() ? line : match.str(1);
      return append(made, {{name, FieldType::Pointer, 0, 8, 1}}, 8, 8, 1);
    }
    if (!std::regex_match(line, match, plain))
      giveUp(line);
    const std::string type = match.str(1), rest = match.str(2);
    for (Matches it(rest.begin(), rest.end(), declarator), end; it != end; ++it)
      addField(type, it->str(1), it->str(2), made);
  }

  void addField(const std::string &type, const std::string &name, const std::string &size,
                AbiStruct &made) {
    const uint64_t count = size.empty()               ? 1
                           : constants.contains(size) ? constants[size]
                                                      : std::stoull(size);
    static const std::map<std::string, std::pair<FieldType, uint64_t>> numbers = {
        {"uint8_t", {FieldType::Unsigned, 1}},  {"uint32_t", {FieldType::Unsigned, 4}},
        {"uint64_t", {FieldType::Unsigned, 8}}, {"int64_t", {FieldType::Unsigned, 8}},
        {"double", {FieldType::Double, 8}},     {"char", {FieldType::Char, 1}}};
    if (auto number = numbers.find(type); number != numbers.end()) {
      const auto [kind, bytes] = number->second;
      return append(made, {{name, kind, 0, bytes, count}}, bytes, bytes, count);
    }
    auto nested = abi.structs.find(type);
    if (nested == abi.structs.end() || count != 1)
      giveUp(type + " " + name);
    std::vector<AbiField> fields = nested->second.fields;
    for (AbiField &field : fields)
      field.name = name + "." + field.name;
    append(made, std::move(fields), nested->second.bytes, nested->second.alignment, 1);
  }

  static void append(AbiStruct &made, std::vector<AbiField> fields, uint64_t bytes,
                     uint64_t alignment, uint64_t count) {
    const uint64_t start = (made.bytes + alignment - 1) / alignment * alignment;
    for (AbiField &field : fields) {
      field.offset += start;
      made.fields.push_back(std::move(field));
    }
    made.bytes = start + bytes * count;
    made.alignment = std::max(made.alignment, alignment);
  }

  std::string text, code;
  std::map<std::string, uint64_t> constants;
  Abi abi;
};

} // namespace

Abi readAbi(const std::string &text) { return Reader(text).read(); }

Abi readAbi() {
  std::ifstream file(DLC_TEST_ABI_HEADER);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    giveUp("cannot read " DLC_TEST_ABI_HEADER);
  return readAbi(text.str());
}

} // namespace dlc::test
