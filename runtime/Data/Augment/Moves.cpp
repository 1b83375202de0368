// Row by row, each pixel from where it was.
#include "runtime/Data/Augment/Moves.h"
#include "runtime/Data/Augment/Resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace dlc::runtime {
namespace {

/// Where a turned image has its pixels from.
class Turn {
public:
  Turn(double degrees, const ImageShape &shape)
      : middleY(static_cast<double>(shape.height) / 2),
        middleX(static_cast<double>(shape.width) / 2),
        cosine(std::cos(degrees * std::numbers::pi / 180)),
        sine(std::sin(degrees * std::numbers::pi / 180)) {}

  struct Place {
    double y, x;
  };
  /// Counted from the middle of the first pixel.
  Place of(uint64_t y, uint64_t x) const {
    const double down = static_cast<double>(y) + 0.5 - middleY,
                 right = static_cast<double>(x) + 0.5 - middleX;
    return {sine * right + cosine * down + middleY - 0.5,
            cosine * right - sine * down + middleX - 0.5};
  }

private:
  double middleY, middleX, cosine, sine;
};

uint8_t rounded(float number, uint8_t) { return static_cast<uint8_t>(number + 0.5f); }
float rounded(float number, float) { return number; }

template <typename Number>
void rotate(double degrees, const ImageShape &shape, const Number *from, Number *to) {
  const auto height = static_cast<int64_t>(shape.height), width = static_cast<int64_t>(shape.width);
  const size_t plane = shape.height * shape.width;
  const Turn turn(degrees, shape);
  for (uint64_t y = 0; y < shape.height; ++y)
    for (uint64_t x = 0; x < shape.width; ++x, ++to) {
      const auto [placeY, placeX] = turn.of(y, x);
      const double floorY = std::floor(placeY), floorX = std::floor(placeX);
      const auto lowerY = static_cast<float>(placeY - floorY),
                 lowerX = static_cast<float>(placeX - floorX);
      const float weights[4] = {(1 - lowerY) * (1 - lowerX), (1 - lowerY) * lowerX,
                                lowerY * (1 - lowerX), lowerY * lowerX};
      size_t at[4];
      bool inside[4];
      for (int corner = 0; corner < 4; ++corner) {
        const int64_t row = static_cast<int64_t>(floorY) + corner / 2,
                      column = static_cast<int64_t>(floorX) + corner % 2;
        inside[corner] = row >= 0 && row < height && column >= 0 && column < width;
        at[corner] = inside[corner] ? static_cast<size_t>(row * width + column) : 0;
      }
      for (uint64_t p = 0; p < shape.planes; ++p) {
        float sum = 0;
        for (int corner = 0; corner < 4; ++corner)
          if (inside[corner])
            sum += weights[corner] * static_cast<float>(from[p * plane + at[corner]]);
        to[p * plane] = rounded(sum, Number());
      }
    }
}

/// The pixel that lies nearest to the middle of number `i` of those that an axis makes.
uint64_t nearestOf(const CutAxis &axis, uint64_t i) {
  const double place = axis.begin + (static_cast<double>(i) + 0.5) * axis.length / axis.size;
  return std::clamp<uint64_t>(static_cast<uint64_t>(place), axis.first, axis.end - 1);
}

} // namespace

void placeImage(const Placement &placement, const ImageShape &shape, const std::byte *from,
                std::byte *to) {
  const auto height = static_cast<int64_t>(shape.height), width = static_cast<int64_t>(shape.width),
             wide = static_cast<int64_t>(placement.width);
  const uint64_t bytes = shape.bytesOfPixel, row = shape.width * bytes,
                 rowMade = placement.width * bytes;
  // Columns that come from the image, before a mirror.
  const int64_t begin = std::clamp<int64_t>(-placement.right, 0, wide),
                end = std::clamp<int64_t>(width - placement.right, begin, wide);
  for (uint64_t plane = 0; plane < shape.planes; ++plane)
    for (uint64_t y = 0; y < placement.height; ++y, to += rowMade) {
      const int64_t source = static_cast<int64_t>(y) + placement.down;
      if (source < 0 || source >= height || begin == end) {
        std::memset(to, 0, rowMade);
        continue;
      }
      const std::byte *const line = from + (plane * shape.height + uint64_t(source)) * row +
                                    (begin + placement.right) * int64_t(bytes);
      const uint64_t count = uint64_t(end - begin);
      const uint64_t left = uint64_t(placement.mirrored ? wide - end : begin);
      std::memset(to, 0, left * bytes);
      std::memset(to + (left + count) * bytes, 0, (placement.width - left - count) * bytes);
      if (!placement.mirrored) {
        std::memcpy(to + left * bytes, line, count * bytes);
        continue;
      }
      for (uint64_t x = 0; x < count; ++x)
        std::memcpy(to + (left + x) * bytes, line + (count - 1 - x) * bytes, bytes);
    }
}

void rotateImage(double degrees, const ImageShape &shape, const uint8_t *from, uint8_t *to) {
  rotate(degrees, shape, from, to);
}

void rotateImage(double degrees, const ImageShape &shape, const float *from, float *to) {
  rotate(degrees, shape, from, to);
}

void rotatePixels(double degrees, const ImageShape &shape, const std::byte *from, std::byte *to) {
  const Turn turn(degrees, shape);
  const uint64_t bytes = shape.bytesOfPixel;
  for (uint64_t plane = 0; plane < shape.planes; ++plane)
    for (uint64_t y = 0; y < shape.height; ++y)
      for (uint64_t x = 0; x < shape.width; ++x, to += bytes) {
        const auto [placeY, placeX] = turn.of(y, x);
        const double row = std::nearbyint(placeY), column = std::nearbyint(placeX);
        if (row < 0 || row >= double(shape.height) || column < 0 || column >= double(shape.width))
          std::memset(to, 0, bytes);
        else
          std::memcpy(
              to,
              from +
                  ((plane * shape.height + uint64_t(row)) * shape.width + uint64_t(column)) * bytes,
              bytes);
      }
}

void cutPixels(const CutAxis &rows, const CutAxis &columns, const ImageShape &shape,
               const std::byte *from, std::byte *to) {
  const uint64_t bytes = shape.bytesOfPixel;
  for (uint64_t plane = 0; plane < shape.planes; ++plane)
    for (uint64_t y = 0; y < rows.size; ++y) {
      const std::byte *const row =
          from + (plane * shape.height + nearestOf(rows, y)) * shape.width * bytes;
      for (uint64_t x = 0; x < columns.size; ++x, to += bytes)
        std::memcpy(to, row + nearestOf(columns, x) * bytes, bytes);
    }
}

} // namespace dlc::runtime
