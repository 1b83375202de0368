// The two passes. Bytes go four rows at a time, or the three channels of one row where these lie
// together: a vector of four sums.
#include "runtime/Data/Augment/Resample.h"
#include "runtime/Core/ModuleFile.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#define DLC_WITH_AVX2 [[gnu::target("avx2")]]
#else
#define DLC_WITH_AVX2
#endif

namespace dlc::runtime {
namespace {

/// How far the filters reach to each side.
constexpr double bilinearSupport = 1, bicubicSupport = 2;

double bilinear(double x) { return std::max(1 - std::fabs(x), 0.0); }

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/// Bits of a weight behind the point: with a byte in front of it and a bit for what filters
/// overshoot, sums are numbers of 32 bits.
constexpr int weightBits = 32 - 8 - 2;
constexpr int32_t half = 1 << (weightBits - 1);

int32_t weightOf(double weight, int32_t) {
  const double scaled = weight * (1 << weightBits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}
float weightOf(double weight, float) { return static_cast<float>(weight); }

uint8_t toByte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp<int32_t>(sum >> weightBits, 0, 255));
}

constexpr unsigned lanes = 4;
/// Those of one instruction; compilers make others where there is none.
template <typename Number, unsigned count>
using Vector __attribute__((vector_size(sizeof(Number) * count))) = Number;

using ByteTaps = Resampler<uint8_t>::Taps;
using FloatTaps = Resampler<float>::Taps;

template <unsigned count>
[[gnu::always_inline]] inline Vector<uint8_t, count> toBytes(Vector<int32_t, count> sums) {
  using Sums = Vector<int32_t, count>;
  sums >>= weightBits;
  sums = sums < 0 ? Sums{} : sums;
  sums = sums > 255 ? Sums{} + 255 : sums;
  return __builtin_convertvector(sums, Vector<uint8_t, count>);
}

/// Four numbers that lie together in each of `step`, each to a row of its own.
template <unsigned step>
[[gnu::always_inline]] inline void resampleAlong(const uint8_t *from, const ByteTaps &taps,
                                                 uint8_t *const (&to)[lanes]) {
  using Sums = Vector<int32_t, lanes>;
  using Bytes = Vector<uint8_t, lanes>;
  const ByteTaps::Run *const runs = taps.runs.data();
  for (size_t x = 0, size = taps.runs.size(); x < size; ++x) {
    Sums sums = Sums{} + half;
    const uint8_t *at = from + size_t(runs[x].first) * step;
    const int32_t *const weights = taps.of(x);
    for (uint32_t k = 0, count = runs[x].count; k < count; ++k, at += step) {
      Bytes bytes;
      std::memcpy(&bytes, at, sizeof(bytes));
      sums += __builtin_convertvector(bytes, Sums) * weights[k];
    }
    const Bytes made = toBytes<lanes>(sums);
    for (unsigned lane = 0; lane < lanes; ++lane)
      to[lane][x] = made[lane];
  }
}

/// One row of sums of `count` rows.
[[gnu::always_inline]] inline void resampleDown(const uint8_t *rows, size_t width,
                                                const int32_t *weights, uint32_t count,
                                                uint8_t *to) {
  constexpr unsigned together = 16;
  using Sums = Vector<int32_t, together>;
  using Bytes = Vector<uint8_t, together>;
  size_t x = 0;
  for (; x + together <= width; x += together) {
    Sums sums = Sums{} + half;
    for (uint32_t k = 0; k < count; ++k) {
      Bytes bytes;
      std::memcpy(&bytes, rows + k * width + x, sizeof(bytes));
      sums += __builtin_convertvector(bytes, Sums) * weights[k];
    }
    const Bytes made = toBytes<together>(sums);
    std::memcpy(to + x, &made, sizeof(made));
  }
  for (; x < width; ++x) {
    int32_t sum = half;
    for (uint32_t k = 0; k < count; ++k)
      sum += rows[k * width + x] * weights[k];
    to[x] = toByte(sum);
  }
}

template <unsigned step>
void alongPlainly(const uint8_t *from, const ByteTaps &taps, uint8_t *const (&to)[lanes]) {
  resampleAlong<step>(from, taps, to);
}
template <unsigned step>
DLC_WITH_AVX2 void alongAvx2(const uint8_t *from, const ByteTaps &taps,
                             uint8_t *const (&to)[lanes]) {
  resampleAlong<step>(from, taps, to);
}
void downPlainly(const uint8_t *rows, size_t width, const int32_t *weights, uint32_t count,
                 uint8_t *to) {
  resampleDown(rows, width, weights, count, to);
}
DLC_WITH_AVX2 void downAvx2(const uint8_t *rows, size_t width, const int32_t *weights,
                            uint32_t count, uint8_t *to) {
  resampleDown(rows, width, weights, count, to);
}

bool hasAvx2() {
  static const bool has = (hostCpuFeatures() & DLC_CPU_AVX2_FMA) != 0;
  return has;
}

/// The first pass over rows from `first` on: to `to`, plane by plane and row by row.
void passAlong(const Planes<uint8_t> &from, uint32_t first, uint64_t rows, const CutAxis &columns,
               const ByteTaps &taps, std::vector<uint8_t> &line, uint8_t *to) {
  const size_t width = columns.end - columns.first, size = columns.size;
  // And a row for what is no row.
  line.resize((width + 1) * lanes + size);
  uint8_t *const none = line.data() + (width + 1) * lanes;
  constexpr unsigned channels = 3;
  if (from.planes == channels && from.planeStep == 1 && from.pixelStep == channels) {
    const auto along = hasAvx2() ? alongAvx2<channels> : alongPlainly<channels>;
    for (uint64_t y = 0; y < rows; ++y) {
      std::memcpy(line.data(),
                  from.data + (first + y) * from.rowStep + size_t(columns.first) * channels,
                  width * channels);
      uint8_t *const own = to + y * size;
      along(line.data(), taps, {own, own + rows * size, own + 2 * rows * size, none});
    }
    return;
  }
  const auto along = hasAvx2() ? alongAvx2<lanes> : alongPlainly<lanes>;
  for (uint64_t row = 0, all = from.planes * rows; row < all; row += lanes) {
    uint8_t *own[lanes];
    for (uint64_t lane = 0; lane < lanes; ++lane) {
      own[lane] = row + lane < all ? to + (row + lane) * size : none;
      const uint64_t one = std::min(row + lane, all - 1);
      const uint8_t *at = from.data + one / rows * from.planeStep +
                          (first + one % rows) * from.rowStep + columns.first * from.pixelStep;
      for (size_t x = 0; x < width; ++x)
        line[x * lanes + lane] = at[x * from.pixelStep];
    }
    along(line.data(), taps, own);
  }
}

void passAlong(const Planes<float> &from, uint32_t first, uint64_t rows, const CutAxis &columns,
               const FloatTaps &taps, std::vector<float> &, float *to) {
  for (uint64_t row = 0; row < from.planes * rows; ++row, to += columns.size) {
    const float *at = from.data + row / rows * from.planeStep +
                      (first + row % rows) * from.rowStep + columns.first * from.pixelStep;
    for (size_t x = 0; x < columns.size; ++x) {
      float sum = 0;
      for (uint32_t k = 0; k < taps.runs[x].count; ++k)
        sum += at[(taps.runs[x].first + k) * from.pixelStep] * taps.of(x)[k];
      to[x] = sum;
    }
  }
}

void rowOfRows(const uint8_t *rows, size_t width, const int32_t *weights, uint32_t count,
               uint8_t *to) {
  (hasAvx2() ? downAvx2 : downPlainly)(rows, width, weights, count, to);
}

void rowOfRows(const float *rows, size_t width, const float *weights, uint32_t count, float *to) {
  std::fill_n(to, width, 0.0f);
  for (uint32_t k = 0; k < count; ++k)
    for (size_t x = 0; x < width; ++x)
      to[x] += rows[k * width + x] * weights[k];
}

template <typename Number>
void copyRows(const Planes<Number> &from, uint32_t first, uint64_t rows, const CutAxis &columns,
              Number *to) {
  for (uint64_t row = 0; row < from.planes * rows; ++row, to += columns.size) {
    const Number *at = from.data + row / rows * from.planeStep +
                       (first + row % rows) * from.rowStep +
                       static_cast<size_t>(columns.begin) * from.pixelStep;
    for (size_t x = 0; x < columns.size; ++x)
      to[x] = at[x * from.pixelStep];
  }
}

} // namespace

template <typename Number>
void Resampler<Number>::Taps::fill(const CutAxis &axis, Filter filter, std::vector<double> &room) {
  const double scale = axis.length / axis.size, stretch = std::max(scale, 1.0),
               inverse = 1 / stretch;
  const bool cubic = filter == Filter::Bicubic;
  const double support = (cubic ? bicubicSupport : bilinearSupport) * stretch;
  const uint32_t inputs = axis.end - axis.first;
  most = static_cast<size_t>(std::ceil(support)) * 2 + 1;
  runs.resize(axis.size);
  weights.resize(axis.size * most);
  room.resize(most);
  for (uint32_t i = 0; i < axis.size; ++i) {
    const double center = axis.begin - axis.first + (i + 0.5) * scale;
    auto begin = static_cast<uint32_t>(std::max(center - support + 0.5, 0.0));
    auto end =
        static_cast<uint32_t>(std::clamp(center + support + 0.5, 0.0, static_cast<double>(inputs)));
    if (begin >= end) {
      begin = std::min(static_cast<uint32_t>(std::max(center, 0.0)), inputs - 1);
      end = begin + 1;
    }
    const auto count = static_cast<uint32_t>(std::min<size_t>(end - begin, most));
    double sum = 0;
    for (uint32_t k = 0; k < count; ++k) {
      const double x = (k + begin - center + 0.5) * inverse;
      sum += room[k] = cubic ? bicubic(x) : bilinear(x);
    }
    for (uint32_t k = 0; k < count; ++k)
      weights[i * most + k] = weightOf(sum == 0 ? 1.0 / count : room[k] / sum, Weight());
    runs[i] = {begin, count};
  }
}

template <typename Number>
void Resampler<Number>::passAlongRows(const Planes<Number> &from, uint32_t first, uint64_t count,
                                      const CutAxis &columns, Number *made) {
  if (columns.copies())
    copyRows(from, first, count, columns, made);
  else
    passAlong(from, first, count, columns, along, line, made);
}

template <typename Number>
void Resampler<Number>::run(const Planes<Number> &from, const CutAxis &rows, const CutAxis &columns,
                            Filter filter, Number *to) {
  if (!columns.copies())
    along.fill(columns, filter, room);
  if (rows.copies())
    return passAlongRows(from, static_cast<uint32_t>(rows.begin), rows.size, columns, to);
  down.fill(rows, filter, room);
  const std::vector<typename Taps::Run> &runs = down.runs;
  for (size_t begin = 0, end = 0; begin < rows.size; begin = end) {
    const uint32_t first = runs[begin].first;
    auto between = [&](size_t last) {
      const uint64_t count = runs[last].first + runs[last].count - first;
      return from.planes * count * columns.size;
    };
    for (end = begin + 1; end < rows.size && between(end) <= mostBetween;)
      ++end;
    middle.resize(between(end - 1));
    const uint64_t count = middle.size() / (from.planes * columns.size);
    passAlongRows(from, rows.first + first, count, columns, middle.data());
    for (uint64_t plane = 0; plane < from.planes; ++plane)
      for (size_t y = begin; y < end; ++y)
        rowOfRows(middle.data() + (plane * count + runs[y].first - first) * columns.size,
                  columns.size, down.of(y), runs[y].count,
                  to + (plane * rows.size + y) * columns.size);
  }
}

template class Resampler<uint8_t>;
template class Resampler<float>;

} // namespace dlc::runtime
