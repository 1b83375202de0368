// What GPT-2's pre-tokenizer asks of a character: regular expressions call the classes \s, \p{L}
// and
// \p{N}.
#ifndef DLC_RUNTIME_DATA_UNICODECLASSES_H
#define DLC_RUNTIME_DATA_UNICODECLASSES_H

#include <cstdint>

namespace dlc::runtime {

enum class UnicodeClass : uint8_t { Other, Letter, Number, Space };

UnicodeClass unicodeClass(uint32_t code);

} // namespace dlc::runtime

#endif
