// Sizes, parts and colours.
#include "runtime/Data/Pictures/Decoder.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>

namespace dlc::runtime {

Status damagedPicture(std::string_view format, std::string_view reason) {
  return damaged("damaged ", format, ": ", reason);
}

Status checkPixels(std::string_view what, uint64_t height, uint64_t width, uint64_t most) {
  if (height != 0 && width <= most / height)
    return {};
  return unsupported(what, " of ", width, " x ", height, " pixels, expected at most ", most);
}

Status claimsTooMuch(std::string_view format, uint64_t height, uint64_t width, uint64_t bytes) {
  return damagedPicture(
      format, concat("it claims ", width, " x ", height, " pixels and has ", bytes, " bytes"));
}

uint32_t factorFor(const PictureRequest &request) {
  uint32_t factor = 8;
  while (factor > 1 && (request.region.height / factor < request.height ||
                        request.region.width / factor < request.width))
    factor /= 2;
  return factor;
}

/// First and behind the last of the whole numbers that `from` to `from + size` touch, at least one.
static std::pair<uint32_t, uint32_t> wholes(double from, double size, uint32_t limit,
                                            uint32_t margin) {
  const double last = limit - 1.0;
  const auto first = static_cast<uint32_t>(std::clamp(std::floor(from) - margin, 0.0, last));
  const auto end =
      static_cast<uint32_t>(std::clamp(std::ceil(from + size) + margin, first + 1.0, last + 1));
  return {first, end};
}

Window windowOf(const PictureRegion &region, uint32_t height, uint32_t width, uint32_t margin) {
  const auto [top, bottom] = wholes(region.top, region.height, height, margin);
  const auto [left, right] = wholes(region.left, region.width, width, margin);
  return {top, left, bottom - top, right - left};
}

void setSize(Picture &picture, uint32_t height, uint32_t width, uint32_t channels) {
  picture.height = height;
  picture.width = width;
  picture.channels = channels;
  picture.bytes.resize(uint64_t(height) * width * channels);
}

void greyOf(const uint8_t *rgb, uint64_t pixels, uint8_t *to) {
  for (uint64_t i = 0; i < pixels; ++i, rgb += 3)
    to[i] =
        static_cast<uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 32768u) >> 16);
}

void rgbOf(const uint8_t *cmyk, uint64_t pixels, uint8_t *to) {
  for (uint64_t i = 0; i < pixels; ++i, cmyk += 4)
    for (int c = 0; c < 3; ++c) {
      // What is left of the light by black, less what the ink takes of it, rounded.
      const int light = cmyk[3], product = (255 - cmyk[c]) * light + 128;
      *to++ = static_cast<uint8_t>(light - (((product >> 8) + product) >> 8));
    }
}

} // namespace dlc::runtime
