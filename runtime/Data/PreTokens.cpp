// The regular expression's alternatives, tried in their order.
#include "runtime/Data/PreTokens.h"
#include "runtime/Data/UnicodeClasses.h"
#include "runtime/Data/Utf8.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

struct Classified {
  UnicodeClass kind;
  size_t bytes;
};

Classified classAt(std::string_view text) {
  const Character found = characterAt(text);
  return found.bytes == 0 ? Classified{UnicodeClass::Other, 1}
                          : Classified{unicodeClass(found.code), found.bytes};
}

} // namespace

size_t firstPreToken(std::string_view text) {
  constexpr std::string_view contractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (const std::string_view contraction : contractions)
    if (text.starts_with(contraction))
      return contraction.size();
  Classified first = classAt(text);
  size_t end = first.bytes;
  // A blank goes with what follows, if that is no space.
  if (text[0] == ' ' && text.size() > 1) {
    const Classified next = classAt(text.substr(1));
    if (next.kind != UnicodeClass::Space) {
      first = next;
      end += next.bytes;
    }
  }
  size_t last = 0;
  while (end < text.size()) {
    const Classified next = classAt(text.substr(end));
    if (next.kind != first.kind)
      break;
    last = end;
    end += next.bytes;
  }
  // Of several spaces the last one is left to what follows.
  const bool leavesLast = first.kind == UnicodeClass::Space && end < text.size() && last != 0;
  return leavesLast ? last : end;
}

} // namespace dlc::runtime
