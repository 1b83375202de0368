// Constant, uniform, normal, truncated normal and orthogonal initialisers on Philox.
//
// Element 4 i + j takes word j of the draw with counter (i, 0, 0, hash of the name). Normals come
// in pairs from two words each (Box-Muller). A truncated normal redraws in the counter's second
// word until the value is inside.
#include "runtime/Core/Initialise.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"

#include <cmath>
#include <numbers>

namespace dlc::runtime {
namespace {

class Draw {
public:
  Draw(uint64_t seed, std::string_view name) : seed(seed), hash(hashName(name)) {}

  /// In [0, 1), with 24 bits.
  double uniform(uint64_t element) const { return (words(element, 0)[element % 4] >> 8) * 0x1p-24; }
  double normal(uint64_t element, uint32_t attempt = 0) const {
    PhiloxWords drawn = words(element, attempt);
    const unsigned pair = element % 4 / 2 * 2;
    // In (0, 1], so that the logarithm is finite.
    const double radius = std::sqrt(-2 * std::log((drawn[pair] + 1.0) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * drawn[pair + 1] * 0x1p-32;
    return radius * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
  }
  double truncatedNormal(uint64_t element) const {
    for (uint32_t attempt = 0;; ++attempt)
      if (double value = normal(element, attempt); std::fabs(value) <= 2)
        return value;
  }

private:
  PhiloxWords words(uint64_t element, uint32_t attempt) const {
    return philox(seed, {static_cast<uint32_t>(element / 4), attempt, 0, hash});
  }
  uint64_t seed;
  uint32_t hash;
};

/// A matrix with orthonormal rows or columns, whichever are fewer: normals, orthogonalised by
/// modified Gram-Schmidt, twice because once leaves errors as large as the condition number.
std::vector<double> orthogonal(const VariableInfo &variable, const Draw &draw) {
  const uint64_t count = variable.type.elementCount(), rows = variable.type.shape[0];
  const uint64_t columns = rows == 0 ? 0 : count / rows;
  std::vector<double> matrix(count);
  for (uint64_t i = 0; i < count; ++i)
    matrix[i] = draw.normal(i);
  const bool byRows = rows <= columns;
  const uint64_t vectors = byRows ? rows : columns, length = byRows ? columns : rows;
  auto at = [&](uint64_t vector, uint64_t i) -> double & {
    return matrix[byRows ? vector * columns + i : i * columns + vector];
  };
  auto product = [&](uint64_t u, uint64_t v) {
    double sum = 0;
    for (uint64_t i = 0; i < length; ++i)
      sum += at(u, i) * at(v, i);
    return sum;
  };
  for (uint64_t v = 0; v < vectors; ++v) {
    for (int pass = 0; pass < 2; ++pass)
      for (uint64_t u = 0; u < v; ++u) {
        const double share = product(u, v);
        for (uint64_t i = 0; i < length; ++i)
          at(v, i) -= share * at(u, i);
      }
    const double norm = std::sqrt(product(v, v));
    for (uint64_t i = 0; i < length; ++i)
      at(v, i) /= norm;
  }
  for (double &value : matrix)
    value *= variable.a;
  return matrix;
}

/// [a, b) must hold after rounding to the element's type as well.
double uniformBetween(double a, double b, double share, dlc_dtype dtype) {
  const double value = a + (b - a) * share;
  if (dtype == DLC_F32 && static_cast<float>(value) >= static_cast<float>(b) && a < b)
    return std::nextafterf(static_cast<float>(b), static_cast<float>(a));
  return value;
}

} // namespace

std::vector<std::byte> initialValue(const VariableInfo &variable, uint64_t seed) {
  const TensorType &type = variable.type;
  const uint64_t count = type.elementCount(), size = dtypeSize(type.dtype);
  std::vector<std::byte> bytes(count * size);
  const Draw draw(seed, variable.name);
  auto fill = [&](auto &&valueOf) {
    for (uint64_t i = 0; i < count; ++i)
      storeElement(type.dtype, valueOf(i), bytes.data() + i * size);
  };
  const double a = variable.a, b = variable.b;
  switch (variable.initialiser) {
  case DLC_INIT_CONSTANT:
    fill([&](uint64_t) { return a; });
    break;
  case DLC_INIT_UNIFORM:
    fill([&](uint64_t i) { return uniformBetween(a, b, draw.uniform(i), type.dtype); });
    break;
  case DLC_INIT_NORMAL:
    fill([&](uint64_t i) { return a + b * draw.normal(i); });
    break;
  case DLC_INIT_TRUNCATED_NORMAL:
    fill([&](uint64_t i) { return a + b * draw.truncatedNormal(i); });
    break;
  case DLC_INIT_ORTHOGONAL: {
    std::vector<double> matrix = orthogonal(variable, draw);
    fill([&](uint64_t i) { return matrix[i]; });
    break;
  }
  }
  return bytes;
}

} // namespace dlc::runtime
