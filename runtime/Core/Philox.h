// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011):
// 128 random bits as a pure function of a 128-bit counter and a 64-bit key, so that any value can
// be drawn anywhere and again.
#ifndef DLC_RUNTIME_CORE_PHILOX_H
#define DLC_RUNTIME_CORE_PHILOX_H

#include <array>
#include <cstdint>

namespace dlc::runtime {

using PhiloxWords = std::array<uint32_t, 4>;

inline PhiloxWords philox(uint64_t key, PhiloxWords counter) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t(0xD2511F53u) * counter[0];
    const uint64_t p1 = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

} // namespace dlc::runtime

#endif
