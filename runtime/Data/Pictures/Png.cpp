// PNG by libpng: all kinds of it to bytes of colours, as they are stored: gamma and profiles are
// not applied, alpha is dropped, of 16 bits the upper ones stay.
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Decoder.h"
#include "runtime/Data/Pictures/Plugin.h"

#include <png.h>

namespace dlc::runtime {
namespace {

/// libpng's objects that read from memory. Its errors leave attempt(); of warnings it says nothing.
class PngReader : public WayOut {
public:
  explicit PngReader(std::span<const uint8_t> file) : rest(file) {}
  PngReader(const PngReader &) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  /// Called in attempt().
  void readHeader() {
    auto fail = [](png_structp png, png_const_charp text) {
      static_cast<PngReader *>(png_get_error_ptr(png))->leave(text);
    };
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail,
                                 [](png_structp, png_const_charp) {});
    info = png ? png_create_info_struct(png) : nullptr;
    if (!info)
      leave("out of memory");
    png_set_read_fn(png, this, [](png_structp png, png_bytep to, size_t size) {
      auto &reader = *static_cast<PngReader *>(png_get_io_ptr(png));
      if (size > reader.rest.size())
        reader.leave(endsEarly);
      std::memcpy(to, reader.rest.data(), size);
      reader.rest = reader.rest.subspan(size);
    });
    png_read_info(png, info);
  }

  png_structp png = nullptr;
  png_infop info = nullptr;

private:
  std::span<const uint8_t> rest;
};

/// Asks libpng for bytes, of grey or of colours as they are stored; for grey as colours if wanted.
/// Called in attempt(). Returns in how many passes the rows come.
int setTransforms(PngReader &reader, bool greyAsColours) {
  png_set_strip_16(reader.png);
  png_set_expand(reader.png);
  png_set_strip_alpha(reader.png);
  if (greyAsColours)
    png_set_gray_to_rgb(reader.png);
  const int passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return passes;
}

/// The same for indices of a palette, or values of grey, as they are stored.
int setNumbers(PngReader &reader) {
  png_set_packing(reader.png);
  png_set_strip_alpha(reader.png);
  const int passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return passes;
}

} // namespace

Result<PictureRegion> decodePng(std::span<const uint8_t> file, uint32_t channels,
                                const PictureChooser &choose, Picture &picture) {
  PngReader reader(file);
  auto failed = [&] {
    return reader.png && reader.info ? damagedPicture("PNG", reader.reason())
                                     : Status::outOfMemory();
  };
  uint32_t height = 0, width = 0;
  uint64_t storedBytes = 0;
  bool isHeld = false, hasNumbers = false;
  if (!reader.attempt([&] {
        reader.readHeader();
        height = png_get_image_height(reader.png, reader.info);
        width = png_get_image_width(reader.png, reader.info);
        storedBytes = height * uint64_t(png_get_rowbytes(reader.png, reader.info));
        const auto kind = png_get_color_type(reader.png, reader.info);
        hasNumbers = (kind == PNG_COLOR_TYPE_PALETTE || !(kind & PNG_COLOR_MASK_COLOR)) &&
                     png_get_bit_depth(reader.png, reader.info) <= 8;
        isHeld = png_get_interlace_type(reader.png, reader.info) != PNG_INTERLACE_NONE;
      }))
    return failed();
  DLC_TRY(checkPixels(isHeld ? "an interlaced PNG" : "a PNG", height, width,
                      isHeld ? mostPixelsHeld : mostPixels));
  if (channels == classNumbers && !hasNumbers)
    return damaged(
        "is a PNG of colours or of 16 bits, expected a palette or grey values of up to 8 "
        "bits, which are numbers of classes");
  // DEFLATE makes of a byte no more than 1,032.
  if (storedBytes / 1032 > file.size())
    return claimsTooMuch("PNG", height, width, file.size());

  const PictureRequest request = choose(height, width);
  const Window window = windowOf(request.region, height, width, /*margin=*/0);
  int passes = 0;
  uint32_t decodedChannels = 0;
  if (!reader.attempt([&] {
        passes = channels == classNumbers ? setNumbers(reader)
                                          : setTransforms(reader, /*greyAsColours=*/channels == 3);
        decodedChannels = png_get_channels(reader.png, reader.info);
      }))
    return failed();
  if (channels == classNumbers)
    channels = 1;
  setSize(picture, window.height, window.width, channels);
  // Each pass fills in what the ones before it have left of a row.
  const uint64_t stride = uint64_t(width) * decodedChannels;
  std::vector<uint8_t> rows(stride * (passes > 1 ? window.height : 1));
  auto keep = [&](uint32_t row, const uint8_t *decoded) {
    decoded += uint64_t(window.left) * decodedChannels;
    const uint64_t kept = uint64_t(window.width) * channels;
    uint8_t *to = picture.bytes.data() + row * kept;
    if (decodedChannels == channels)
      std::memcpy(to, decoded, kept);
    else
      greyOf(decoded, window.width, to);
  };
  if (!reader.attempt([&] {
        for (int pass = 0; pass < passes; ++pass) {
          const bool isLast = pass + 1 == passes;
          const uint32_t end = isLast ? window.top + window.height : height;
          for (uint32_t y = 0; y < end; ++y) {
            if (y < window.top || y - window.top >= window.height) {
              png_read_row(reader.png, nullptr, nullptr);
              continue;
            }
            uint8_t *row = rows.data() + (passes > 1 ? (y - window.top) * stride : 0);
            png_read_row(reader.png, row, nullptr);
            if (isLast)
              keep(y - window.top, row);
          }
        }
      }))
    return failed();
  const PictureRegion &region = request.region;
  return PictureRegion{region.top - window.top, region.left - window.left, region.height,
                       region.width};
}

} // namespace dlc::runtime
