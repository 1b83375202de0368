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

/// The words of `count` counters that follow each other in their first word: out[i][lane] is word i
/// of the counter behind `lane` others. The same words as one by one, in loops that compilers turn
/// into vector code.
template <unsigned count>
void philoxRun(uint64_t key, PhiloxWords first, uint32_t (&out)[4][count]) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (unsigned lane = 0; lane < count; ++lane) {
    out[0][lane] = first[0] + lane;
    for (unsigned i = 1; i < 4; ++i)
      out[i][lane] = first[i];
  }
  for (int round = 0; round < 10; ++round) {
    for (unsigned lane = 0; lane < count; ++lane) {
      const uint64_t p0 = uint64_t(0xD2511F53u) * out[0][lane];
      const uint64_t p1 = uint64_t(0xCD9E8D57u) * out[2][lane];
      out[0][lane] = static_cast<uint32_t>(p1 >> 32) ^ out[1][lane] ^ k0;
      out[1][lane] = static_cast<uint32_t>(p1);
      out[2][lane] = static_cast<uint32_t>(p0 >> 32) ^ out[3][lane] ^ k1;
      out[3][lane] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

} // namespace dlc::runtime

#endif
