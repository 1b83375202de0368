// WebP by libwebp: one picture, lossy or lossless; alpha is dropped.
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Decoder.h"

#include <webp/decode.h>

namespace dlc::runtime {

static Status failedWebP(VP8StatusCode code) {
  switch (code) {
  case VP8_STATUS_OUT_OF_MEMORY:
    return Status::outOfMemory();
  case VP8_STATUS_SUSPENDED:
  case VP8_STATUS_NOT_ENOUGH_DATA:
    return damagedPicture("WebP", endsEarly);
  case VP8_STATUS_UNSUPPORTED_FEATURE:
    return damagedPicture("WebP", "it uses what libwebp does not know");
  default:
    return damagedPicture("WebP", "its data make no picture");
  }
}

Result<PictureRegion> decodeWebP(std::span<const uint8_t> file, uint32_t channels,
                                 const PictureChooser &choose, Picture &picture) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config))
    return unsupported("WebP: the library is another than the one that dlc was built with");
  if (const VP8StatusCode code = WebPGetFeatures(file.data(), file.size(), &config.input);
      code != VP8_STATUS_OK)
    return failedWebP(code);
  if (config.input.has_animation)
    return unsupported("an animated WebP, expected one picture");
  const auto height = static_cast<uint32_t>(config.input.height),
             width = static_cast<uint32_t>(config.input.width);
  constexpr int lossless = 2;
  const bool isHeld = config.input.format == lossless;
  DLC_TRY(checkPixels(isHeld ? "a lossless WebP" : "a WebP", height, width,
                      isHeld ? mostPixelsHeld : mostPixels));

  const PictureRequest request = choose(height, width);
  const PictureRegion &region = request.region;
  // Smooth chroma has a sample of its neighbours in each; a part begins with a sample of chroma.
  constexpr uint32_t margin = 2;
  Window window = windowOf(region, height, width, margin);
  window.height += window.top % 2;
  window.width += window.left % 2;
  window.top -= window.top % 2;
  window.left -= window.left % 2;
  const uint32_t factor = factorFor(request), rows = (window.height + factor - 1) / factor,
                 columns = (window.width + factor - 1) / factor;
  setSize(picture, rows, columns, channels);
  std::vector<uint8_t> rgb;
  if (channels == 1)
    rgb.resize(uint64_t(rows) * columns * 3);

  config.options.use_cropping = 1;
  config.options.crop_top = static_cast<int>(window.top);
  config.options.crop_left = static_cast<int>(window.left);
  config.options.crop_height = static_cast<int>(window.height);
  config.options.crop_width = static_cast<int>(window.width);
  config.options.use_scaling = factor > 1;
  config.options.scaled_height = static_cast<int>(rows);
  config.options.scaled_width = static_cast<int>(columns);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = rgb.empty() ? picture.bytes.data() : rgb.data();
  config.output.u.RGBA.stride = static_cast<int>(columns * 3);
  config.output.u.RGBA.size = size_t(rows) * columns * 3;
  if (const VP8StatusCode code = WebPDecode(file.data(), file.size(), &config);
      code != VP8_STATUS_OK)
    return failedWebP(code);
  if (channels == 1)
    greyOf(rgb.data(), uint64_t(rows) * columns, picture.bytes.data());
  // Where the factor divides no size, a row or column stands for somewhat less of the picture.
  const double down = double(rows) / window.height, across = double(columns) / window.width;
  return PictureRegion{(region.top - window.top) * down, (region.left - window.left) * across,
                       region.height * down, region.width * across};
}

} // namespace dlc::runtime
