// The characters of a text in UTF-8.
#ifndef DLC_RUNTIME_DATA_UTF8_H
#define DLC_RUNTIME_DATA_UTF8_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlc::runtime {

/// A character of a text, and its bytes; 0 bytes where `text` begins with none.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

constexpr size_t longestCharacter = 4;

inline Character characterAt(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80)
    return {first, 1};
  const size_t length = (first & 0xe0) == 0xc0 ? 2 : (first & 0xf0) == 0xe0 ? 3 : 4;
  if (length > text.size() || first < 0xc0 || first >= 0xf8)
    return {};
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80)
      return {};
    code = code << 6 | (next & 0x3f);
  }
  // What has a shorter form is none.
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < least[length] ? Character{} : Character{code, length};
}

/// Appends a character, as characterAt() reads it.
inline void appendCharacter(std::string &text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

} // namespace dlc::runtime

#endif
