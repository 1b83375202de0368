// What the decoders of pictures share: bounds, the part that is decoded, colours, and the way out
// of a C library. Part of libdlc_images.so.
#ifndef DLC_RUNTIME_DATA_PICTURES_DECODER_H
#define DLC_RUNTIME_DATA_PICTURES_DECODER_H

#include "dlc/data.h"

#include <csetjmp>
#include <cstring>

namespace dlc::runtime {

/// Pixels of a picture, and of one that its decoder holds whole: a few bytes of a file may claim
/// any number of them.
inline constexpr uint64_t mostPixels = uint64_t(1) << 28, mostPixelsHeld = uint64_t(1) << 26;

/// Each fails without the file's name, and `picture` is anything then. `channels` is 1 or 3.
Result<PictureRegion> decodeJpeg(std::span<const uint8_t> file, uint32_t channels,
                                 const PictureChooser &choose, Picture &picture);
Result<PictureRegion> decodePng(std::span<const uint8_t> file, uint32_t channels,
                                const PictureChooser &choose, Picture &picture);
Result<PictureRegion> decodeWebP(std::span<const uint8_t> file, uint32_t channels,
                                 const PictureChooser &choose, Picture &picture);

/// What a decoder says of a file that does not hold what it should.
Status damagedPicture(std::string_view format, std::string_view reason);
/// Fails for more than `most` pixels of what is called "a PNG".
Status checkPixels(std::string_view what, uint64_t height, uint64_t width, uint64_t most);
/// Where a file of so many bytes cannot hold them.
Status claimsTooMuch(std::string_view format, uint64_t height, uint64_t width, uint64_t bytes);

/// The largest of 1, 2, 4 and 8 by which a picture may be made smaller: the region keeps what was
/// asked for.
uint32_t factorFor(const PictureRequest &request);

/// Whole rows and columns of a picture.
struct Window {
  uint32_t top, left, height, width;
};

/// Those that have `region` in them, of a picture of `height` by `width`, with `margin` more on
/// each side where there are more: what the pixels of the region depend on as well.
Window windowOf(const PictureRegion &region, uint32_t height, uint32_t width, uint32_t margin);

/// Gives a picture its size and room for its pixels.
void setSize(Picture &picture, uint32_t height, uint32_t width, uint32_t channels);

/// As Pillow's mode L: `to` has a third of the bytes.
void greyOf(const uint8_t *rgb, uint64_t pixels, uint8_t *to);
/// As Pillow's, of Adobe's inverted CMYK.
void rgbOf(const uint8_t *cmyk, uint64_t pixels, uint8_t *to);

/// Where an error leads that a C library reports by a function that must not return.
class WayOut {
public:
  /// Calls body(), which has nothing to be destroyed, as leave() leaves it in the middle. False if
  /// that happened.
  template <typename Body> [[gnu::noinline]] bool attempt(const Body &body) {
    if (setjmp(place))
      return false;
    body();
    return true;
  }
  [[noreturn]] void leave(const char *reason) {
    std::strncpy(text, reason, sizeof(text) - 1);
    std::longjmp(place, 1);
  }
  const char *reason() const { return text; }

private:
  std::jmp_buf place;
  char text[256] = {};
};

/// Why the file ended in front of the picture's end.
inline constexpr const char *endsEarly = "it ends too early";

} // namespace dlc::runtime

#endif
