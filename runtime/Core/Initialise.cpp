// Constant, uniform, normal, truncated normal and orthogonal initialisers on Philox.
//
// Element 4 i + j takes word j of the draw with counter (i, 0, 0, hash of the name). Normals come
// in pairs from two words each (Box-Muller). A truncated normal redraws in the counter's second
// word until the value is inside.
#include "runtime/Core/Initialise.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dlc::runtime {
namespace {

/// Blocks that are drawn together.
constexpr uint64_t blocksAtOnce = 16;

/// The random numbers of one variable, four a block: those of elements 4 block .. 4 block + 3.
class Draw {
public:
  Draw(uint64_t seed, std::string_view name) : seed(seed), hash(hashName(name)) {}

  /// Of `blocksAtOnce` blocks, in [0, 1), with 24 bits.
  void uniform(uint64_t block, double *out) const {
    uint32_t words[4][blocksAtOnce];
    philoxRun(seed, {static_cast<uint32_t>(block), 0, 0, hash}, words);
    for (unsigned lane = 0; lane < blocksAtOnce; ++lane)
      for (unsigned i = 0; i < 4; ++i)
        out[4 * lane + i] = static_cast<int32_t>(words[i][lane] >> 8) * 0x1p-24;
  }

  void normal(uint64_t block, double out[4], uint32_t attempt = 0) const {
    const PhiloxWords word = words(block, attempt);
    for (unsigned pair = 0; pair < 4; pair += 2) {
      // In (0, 1], so that the logarithm is finite.
      const double radius = std::sqrt(-2 * std::log((word[pair] + 1.0) * 0x1p-32));
      const double angle = 2 * std::numbers::pi * word[pair + 1] * 0x1p-32;
      out[pair] = radius * std::cos(angle);
      out[pair + 1] = radius * std::sin(angle);
    }
  }

  void truncatedNormal(uint64_t block, double out[4]) const {
    normal(block, out);
    for (unsigned i = 0; i < 4; ++i)
      for (uint32_t attempt = 1; std::fabs(out[i]) > 2; ++attempt) {
        double again[4];
        normal(block, again, attempt);
        out[i] = again[i];
      }
  }

private:
  PhiloxWords words(uint64_t block, uint32_t attempt) const {
    return philox(seed, {static_cast<uint32_t>(block), attempt, 0, hash});
  }
  uint64_t seed;
  uint32_t hash;
};

/// Calls take(i, value) for elements 0 .. count - 1 with values from fill(block, those of
/// `blocksAtOnce` blocks), from several threads and in any order.
template <typename Fill, typename Take>
void forEachElement(uint64_t count, Fill &&fill, Take &&take) {
  constexpr uint64_t run = 4 * blocksAtOnce, runsOfPiece = 1 << 12;
  const uint64_t runs = (count + run - 1) / run;
  forEachPiece((runs + runsOfPiece - 1) / runsOfPiece, [&](uint64_t piece) {
    double values[run];
    const uint64_t end = std::min(runs, (piece + 1) * runsOfPiece);
    for (uint64_t i = piece * runsOfPiece; i < end; ++i) {
      fill(i * blocksAtOnce, values);
      const uint64_t first = i * run, some = std::min(run, count - first);
      for (uint64_t j = 0; j < some; ++j)
        take(first + j, values[j]);
    }
  });
}

/// The same, where one block is drawn at a time.
template <typename Fill, typename Take>
void forEachBlock(uint64_t count, Fill &&fill, Take &&take) {
  forEachElement(
      count,
      [&](uint64_t block, double *out) {
        for (uint64_t i = 0; i < blocksAtOnce; ++i)
          fill(block + i, out + 4 * i);
      },
      take);
}

/// A matrix with orthonormal rows or columns, whichever are fewer: normals, orthogonalised by
/// modified Gram-Schmidt, twice because once leaves errors as large as the condition number.
std::vector<double> orthogonal(const VariableInfo &variable, const Draw &draw) {
  const uint64_t count = variable.type.elementCount(), rows = variable.type.shape[0];
  const uint64_t columns = rows == 0 ? 0 : count / rows;
  std::vector<double> matrix(count);
  forEachBlock(
      count, [&](uint64_t block, double *out) { draw.normal(block, out); },
      [&](uint64_t i, double value) { matrix[i] = value; });
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

/// Largest number below b that the dtype can hold: [a, b) must hold after rounding as well.
double justBelow(double b, double a, dlc_dtype dtype) {
  return dtype == DLC_F32 && a < b ? std::nextafterf(static_cast<float>(b), static_cast<float>(a))
                                   : b;
}

} // namespace

void initialValue(const VariableInfo &variable, uint64_t seed, std::span<std::byte> out) {
  const TensorType &type = variable.type;
  const uint64_t count = type.elementCount(), size = dtypeSize(type.dtype);
  const double a = variable.a, b = variable.b, highest = justBelow(b, a, type.dtype);
  const Draw draw(seed, variable.name);
  auto store = [&, floats = reinterpret_cast<float *>(out.data())](uint64_t i, double value) {
    if (type.dtype == DLC_F32) // nearly always
      floats[i] = static_cast<float>(value);
    else
      storeElement(type.dtype, value, out.data() + i * size);
  };
  switch (variable.initialiser) {
  case DLC_INIT_CONSTANT:
    for (uint64_t i = 0; i < count; ++i)
      store(i, a);
    break;
  case DLC_INIT_UNIFORM:
    forEachElement(
        count, [&](uint64_t block, double *out) { draw.uniform(block, out); },
        [&](uint64_t i, double share) { store(i, std::min(a + (b - a) * share, highest)); });
    break;
  case DLC_INIT_NORMAL:
    forEachBlock(
        count, [&](uint64_t block, double *out) { draw.normal(block, out); },
        [&](uint64_t i, double value) { store(i, a + b * value); });
    break;
  case DLC_INIT_TRUNCATED_NORMAL:
    forEachBlock(
        count, [&](uint64_t block, double *out) { draw.truncatedNormal(block, out); },
        [&](uint64_t i, double value) { store(i, a + b * value); });
    break;
  case DLC_INIT_ORTHOGONAL: {
    const std::vector<double> matrix = orthogonal(variable, draw);
    for (uint64_t i = 0; i < count; ++i)
      store(i, matrix[i]);
    break;
  }
  case DLC_INIT_COPY:
    break; // a value of the state, not of a formula
  }
}

} // namespace dlc::runtime
