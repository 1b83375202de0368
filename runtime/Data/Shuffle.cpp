// Fisher-Yates; draw i has the counter (i / 2, 0, epoch, hash of "shuffle"), two 64-bit numbers to
// a draw of 128 bits.
#include "runtime/Data/Shuffle.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"

#include <numeric>
#include <utility>

namespace dlc::runtime {

std::vector<uint32_t> shuffledOrder(uint32_t count, uint64_t seed, uint32_t epoch) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  const uint32_t hash = hashName("shuffle");
  PhiloxWords words{};
  for (uint32_t i = count; i > 1; --i) {
    const uint32_t draw = count - i;
    if (draw % 2 == 0)
      words = philox(seed, {draw / 2, 0, epoch, hash});
    const unsigned half = draw % 2 * 2;
    const uint64_t random = uint64_t(words[half]) << 32 | words[half + 1];
    // The upper half of the product is uniform in [0, i), up to a bias of i / 2^64.
    const auto other = static_cast<uint32_t>((static_cast<unsigned __int128>(random) * i) >> 64);
    std::swap(order[i - 1], order[other]);
  }
  return order;
}

} // namespace dlc::runtime
