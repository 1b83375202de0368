// Regular expressions on names.
#include "runtime/Data/RenameRules.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

Result<std::vector<RenameRule>> renameRules(const std::vector<std::string> &texts) {
  std::vector<RenameRule> rules;
  for (const std::string &text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0)
      return invalid("`rename`: expected REGEX=REPLACEMENT, found '", excerpt(text), "'");
    const std::string pattern = text.substr(0, equals);
    try {
      rules.push_back({std::regex(pattern), text.substr(equals + 1)});
    } catch (const std::regex_error &) {
      return invalid("`rename`: '", excerpt(pattern), "' is no regular expression");
    }
  }
  return rules;
}

std::string renamed(std::string name, const std::vector<RenameRule> &rules) {
  // The library's matcher recurses for each character; names of tensors are shorter than this.
  constexpr size_t longest = 4096;
  if (name.size() > longest)
    return name;
  for (const RenameRule &rule : rules)
    name =
        std::regex_replace(name, rule.pattern, rule.replacement, std::regex_constants::format_sed);
  return name;
}

} // namespace dlc::runtime
