// Any bytes: a picture that has the part that was asked for, or one line that says why there is
// none.
#include "runtime/Data/Pictures/DecodePicture.h"

#include <algorithm>
#include <cstdio>

using namespace dlc::runtime;

/// What is asked for depends on the last bytes, which decoders need least.
static PictureRequest choose(std::span<const uint8_t> file, uint32_t height, uint32_t width) {
  constexpr double most = 512;
  auto number = [&](size_t i) { return file.size() > i ? file[file.size() - 1 - i] / 256.0 : 0; };
  const double top = height * number(0), left = width * number(1);
  return {{top, left, std::min(most, (height - top) * number(2)),
           std::min(most, (width - left) * number(3))},
          uint32_t(64 * number(4)),
          uint32_t(64 * number(5))};
}

/// Whether what was asked for lies in the picture, and is not smaller than it may be.
static bool isSound(const Picture &picture, const PictureRegion &region,
                    const PictureRequest &request) {
  constexpr double rounding = 1e-6;
  auto isIn = [](double begin, double size, uint32_t limit) {
    return begin >= -rounding && begin + size <= limit + rounding;
  };
  return picture.bytes.size() == uint64_t(picture.height) * picture.width * picture.channels &&
         picture.height > 0 && picture.width > 0 &&
         isIn(region.top, region.height, picture.height) &&
         isIn(region.left, region.width, picture.width) &&
         region.height + rounding >= std::min<double>(request.height, request.region.height) &&
         region.width + rounding >= std::min<double>(request.width, request.region.width);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::span file(data, size);
  Picture picture;
  PictureRequest request;
  const Result<PictureRegion> region = decodePicture(
      std::as_bytes(file), size % 2 ? 1 : 3,
      [&](uint32_t height, uint32_t width) { return request = choose(file, height, width); },
      picture);
  if (region.ok() ? !isSound(picture, *region, request) : region.status().message().empty()) {
    std::fprintf(stderr, "%u x %u\n", picture.width, picture.height);
    __builtin_trap();
  }
  return 0;
}
