// Letters and numbers by a table that the build makes (unicode_classes.py), and ASCII by hand.
#include "runtime/Data/UnicodeClasses.h"

#include <algorithm>
#include <iterator>

namespace dlc::runtime {
namespace {

constexpr uint32_t changes[] = {
#include "UnicodeClasses.inc"
};

/// Unicode's White_Space.
bool isSpace(uint32_t code) {
  return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xa0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 ||
         code == 0x202f || code == 0x205f || code == 0x3000;
}

} // namespace

UnicodeClass unicodeClass(uint32_t code) {
  if (isSpace(code))
    return UnicodeClass::Space;
  if (code < 0x80) {
    const uint32_t lower = code | 0x20;
    return lower >= 'a' && lower <= 'z' ? UnicodeClass::Letter
           : code >= '0' && code <= '9' ? UnicodeClass::Number
                                        : UnicodeClass::Other;
  }
  const uint32_t *behind = std::upper_bound(std::begin(changes), std::end(changes), code << 2 | 3);
  return behind == changes ? UnicodeClass::Other : static_cast<UnicodeClass>(behind[-1] & 3);
}

} // namespace dlc::runtime
