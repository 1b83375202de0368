// The numbers behind the reference networks: u(key, i), a counter-based formula in place of stored
// parameters and inputs.
#ifndef DLC_TEST_E2E_FORMULA_H
#define DLC_TEST_E2E_FORMULA_H

#include <cstdint>
#include <string_view>

namespace dlc::test {

/// Numbers in [-1, 1): splitmix64 of (FNV-1a of `key` + i), its top 24 bits as a fraction.
class Formula {
public:
  explicit Formula(std::string_view key) {
    for (unsigned char c : key)
      hash = (hash ^ c) * 0x100000001b3ull;
  }
  double operator()(uint64_t i) const {
    uint64_t z = (hash + i) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return double(z >> 40) / 8388608.0 - 1.0;
  }

private:
  uint64_t hash = 0xcbf29ce484222325ull;
};

} // namespace dlc::test

#endif
