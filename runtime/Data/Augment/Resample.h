// Images made larger or smaller as Pillow does it, to the bit for bytes: along rows first, then
// down columns; each number is a sum of the numbers around its place, over a filter that is
// stretched by the factor by which the image shrinks, so that nothing is skipped. Weights of bytes
// are whole numbers in units of 2^-22, and the result of each of the two passes is rounded to a
// byte. Rows that are made go in bands, so that what lies between the passes is small for images of
// any height.
//
// Ownership: a Resampler has memory that it uses again. Threads: one at a time.
#ifndef DLC_RUNTIME_DATA_AUGMENT_RESAMPLE_H
#define DLC_RUNTIME_DATA_AUGMENT_RESAMPLE_H

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace dlc::runtime {

enum class Filter : uint8_t { Bilinear, Bicubic };

/// Planes of numbers, wherever they lie: (plane, y, x) is number plane * planeStep + y * rowStep +
/// x * pixelStep.
template <typename Number> struct Planes {
  const Number *data;
  uint64_t planes, height, width;
  size_t planeStep, rowStep, pixelStep;
};

/// What is made of one axis of an image: `size` numbers of the `length` from `begin` on, neither of
/// which need be whole. Read are those from `first` up to `end` alone.
struct CutAxis {
  double begin, length;
  uint32_t first, end, size;

  /// Whether each number stays as it is.
  bool copies() const { return length == size && begin == static_cast<uint32_t>(begin); }
};

/// `Number` is uint8_t or float.
template <typename Number> class Resampler {
public:
  /// Writes planes of rows.size x columns.size numbers.
  void run(const Planes<Number> &from, const CutAxis &rows, const CutAxis &columns, Filter filter,
           Number *to);

  /// What a pass reads for each number that it makes, and how each of these counts.
  struct Taps {
    struct Run {
      uint32_t first, count;
    };
    using Weight = std::conditional_t<std::is_same_v<Number, uint8_t>, int32_t, float>;
    std::vector<Run> runs;
    std::vector<Weight> weights;
    size_t most = 0;

    void fill(const CutAxis &axis, Filter filter, std::vector<double> &room);
    const Weight *of(size_t number) const { return weights.data() + number * most; }
  };

private:
  /// Numbers between the passes, where a single row does not need more.
  static constexpr uint64_t mostBetween = 1 << 22;

  void passAlongRows(const Planes<Number> &from, uint32_t first, uint64_t count,
                     const CutAxis &columns, Number *made);

  Taps along, down;
  std::vector<double> room;
  /// Rows that are resampled together, number by number; and what the first pass makes of a band.
  std::vector<Number> line, middle;
};

} // namespace dlc::runtime

#endif
