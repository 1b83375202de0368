//===- Tensor.cpp - the deterministic numbers behind the reference values -------------------------------------------===//
#include "test/lib/Interpreter/Tensor.h"

namespace dlc::interpreter {

double uniform(std::string_view key, uint64_t i, uint64_t seed) {
  uint64_t h = 0xcbf29ce484222325; // FNV-1a
  for (unsigned char c : key)
    h = (h ^ c) * 0x100000001b3;
  uint64_t z = (h + seed + i) * 0x9e3779b97f4a7c15; // splitmix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z = z ^ (z >> 31);
  return static_cast<double>(z >> 40) / 8388608.0 - 1;
}

Tensor uniformTensor(Shape shape, std::string_view key, double scale, double shift) {
  Tensor result = Tensor::filled(std::move(shape), 0);
  for (int64_t i = 0; i < result.size(); ++i)
    result.values[i] = scale * uniform(key, i) + shift;
  return result;
}

} // namespace dlc::interpreter
