// Regular expressions on names, by the C library: C++'s would be a tenth of the code of libdlc.so.
#include "runtime/Data/RenameRules.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

static std::shared_ptr<const regex_t> compile(const std::string &pattern) {
  auto made = std::make_unique<regex_t>();
  if (regcomp(made.get(), pattern.c_str(), REG_EXTENDED) != 0)
    return {};
  return {made.release(), [](const regex_t *each) {
            regfree(const_cast<regex_t *>(each));
            delete each;
          }};
}

Result<std::vector<RenameRule>> renameRules(const std::vector<std::string> &texts) {
  std::vector<RenameRule> rules;
  for (const std::string &text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0)
      return invalid("`rename`: expected REGEX=REPLACEMENT, found '", excerpt(text), "'");
    const std::string pattern = text.substr(0, equals);
    rules.push_back({compile(pattern), text.substr(equals + 1)});
    if (!rules.back().pattern)
      return invalid("`rename`: '", excerpt(pattern), "' is no regular expression");
  }
  return rules;
}

namespace {

constexpr size_t groupCount = 10;

/// The replacement of a match, with \1 for its first group, and & or \0 for all of it.
void appendReplacement(std::string &result, const std::string &replacement, const char *matched,
                       const regmatch_t (&groups)[groupCount]) {
  auto append = [&](const regmatch_t &group) {
    if (group.rm_so >= 0)
      result.append(matched + group.rm_so, static_cast<size_t>(group.rm_eo - group.rm_so));
  };
  for (size_t i = 0; i < replacement.size(); ++i) {
    const bool escapes = replacement[i] == '\\' && i + 1 < replacement.size();
    if (replacement[i] == '&')
      append(groups[0]);
    else if (!escapes)
      result += replacement[i];
    else if (const char next = replacement[++i]; next >= '0' && next <= '9')
      append(groups[next - '0']);
    else
      result += next;
  }
}

std::string renamedBy(const std::string &name, const RenameRule &rule) {
  std::string result;
  regmatch_t groups[groupCount];
  size_t at = 0, matchEnd = name.npos;
  while (at <= name.size() && regexec(rule.pattern.get(), name.c_str() + at, groupCount, groups,
                                      at == 0 ? 0 : REG_NOTBOL) == 0) {
    const size_t begin = at + static_cast<size_t>(groups[0].rm_so),
                 end = at + static_cast<size_t>(groups[0].rm_eo);
    result.append(name, at, begin - at);
    // Nothing behind a match is none.
    if (begin != end || begin != matchEnd)
      appendReplacement(result, rule.replacement, name.c_str() + at, groups);
    if (begin == end && begin < name.size())
      result += name[begin];
    at = begin == end ? begin + 1 : end;
    matchEnd = end;
  }
  if (at < name.size())
    result.append(name, at);
  return result;
}

} // namespace

std::string renamed(std::string name, const std::vector<RenameRule> &rules) {
  // Matching may take a power of the length; names of tensors are shorter than this.
  constexpr size_t longest = 4096;
  if (name.size() > longest)
    return name;
  for (const RenameRule &rule : rules)
    name = renamedBy(name, rule);
  return name;
}

} // namespace dlc::runtime
