// Counts brackets outside of strings.
#include "runtime/Core/Json.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

Status checkJsonDepth(std::string_view text) {
  constexpr unsigned limit = 64;
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inString && c == '\\')
      ++i; // whatever is escaped does not end the string
    else if (c == '"')
      inString = !inString;
    else if (inString)
      continue;
    else if (c == '[' || c == '{')
      ++depth;
    else if ((c == ']' || c == '}') && depth > 0)
      --depth;
    if (depth > limit)
      return damaged("JSON nested more than ", limit, " deep");
  }
  return {};
}

} // namespace dlc::runtime
