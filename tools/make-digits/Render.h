// One handwritten-like digit as 28x28 grey values: a way to write it, bent and placed by chance,
// drawn with a round pen.
#ifndef DLC_TOOLS_MAKE_DIGITS_RENDER_H
#define DLC_TOOLS_MAKE_DIGITS_RENDER_H

#include <array>
#include <cstdint>

namespace dlc::digits {

constexpr int imageSide = 28;
using Image = std::array<uint8_t, imageSide * imageSide>;

/// Image number `index` of a set: a pure function of seed, set, index and digit.
Image renderDigit(int digit, uint64_t seed, uint32_t set, uint32_t index);

/// Digit of image number `index`.
int digitOf(uint64_t seed, uint32_t set, uint32_t index);

} // namespace dlc::digits

#endif
