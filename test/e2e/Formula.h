// The numbers behind the reference networks: u(key, i), a counter-based formula in place of stored
// parameters and inputs.
#ifndef DLC_TEST_E2E_FORMULA_H
#define DLC_TEST_E2E_FORMULA_H

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dlc::test {

/// `count` numbers in [-1, 1): splitmix64 of (FNV-1a of `key` + i), its top 24 bits as a fraction.
inline std::vector<double> formula(std::string_view key, uint64_t count) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : key)
    hash = (hash ^ c) * 0x100000001b3ull;
  std::vector<double> out(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t z = (hash + i) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    out[i] = double(z >> 40) / 8388608.0 - 1.0;
  }
  return out;
}

/// The same, scaled, shifted and rounded to float32: what a float32 program starts from.
inline std::vector<float> formulaF32(std::string_view key, uint64_t count, double scale = 1,
                                     double offset = 0) {
  std::vector<float> out;
  out.reserve(count);
  for (double v : formula(key, count))
    out.push_back(float(v * scale + offset));
  return out;
}

/// Class labels: floor((u + 1) / 2 * classes).
inline std::vector<int32_t> formulaLabels(std::string_view key, uint64_t count, int classes) {
  std::vector<int32_t> out;
  for (double v : formula(key, count))
    out.push_back(std::min(classes - 1, std::max(0, int((v + 1) / 2 * classes))));
  return out;
}

} // namespace dlc::test

#endif
