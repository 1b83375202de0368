// Images moved as a whole: pixels go elsewhere, and where none comes from there are zeros.
#ifndef DLC_RUNTIME_DATA_AUGMENT_MOVES_H
#define DLC_RUNTIME_DATA_AUGMENT_MOVES_H

#include <cstddef>
#include <cstdint>

namespace dlc::runtime {

struct CutAxis;

/// A stack of planes of pixels.
struct ImageShape {
  uint64_t planes, height, width, bytesOfPixel;

  uint64_t pixels() const { return planes * height * width; }
  uint64_t bytes() const { return pixels() * bytesOfPixel; }
};

/// Where the pixels of an image of a size come from: `down` rows and `right` columns further on,
/// and in each row from the right where it is mirrored.
struct Placement {
  int64_t down = 0, right = 0;
  bool mirrored = false;
  uint64_t height, width;
};

void placeImage(const Placement &placement, const ImageShape &shape, const std::byte *from,
                std::byte *to);

/// Turns an image about its middle, against the clock, at its own size. A number is what four
/// pixels make of it, as far from it as they are, in bytes rounded.
void rotateImage(double degrees, const ImageShape &shape, const uint8_t *from, uint8_t *to);
void rotateImage(double degrees, const ImageShape &shape, const float *from, float *to);
/// The same with whole pixels, whatever they are: the nearest one's.
void rotatePixels(double degrees, const ImageShape &shape, const std::byte *from, std::byte *to);

/// The nearest pixels of a part of an image, made to another size.
void cutPixels(const CutAxis &rows, const CutAxis &columns, const ImageShape &shape,
               const std::byte *from, std::byte *to);

} // namespace dlc::runtime

#endif
