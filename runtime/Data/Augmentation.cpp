// Drawing and moving; a sample's draws have the counter (sample, 0, epoch, hash of "augment").
#include "runtime/Data/Augmentation.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace dlc::runtime {

Result<Augmentation> parseAugmentation(std::string_view text) {
  Augmentation found;
  for (std::string_view rest = text;;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    if (part == "flip" && !found.flip) {
      found.flip = true;
    } else {
      constexpr std::string_view crop = "crop:";
      const char *const end = part.data() + part.size();
      if (!part.starts_with(crop) || found.crop != 0 ||
          std::from_chars(part.data() + crop.size(), end, found.crop).ptr != end || found.crop == 0)
        return invalid("expected crop:N, flip or crop:N,flip, found '", excerpt(text), "'");
    }
    if (comma == rest.size())
      return found;
    rest.remove_prefix(comma + 1);
  }
}

/// From 0 to `count` - 1: the upper half of the product, up to a bias of count / 2^32.
static int64_t draw(uint32_t random, uint64_t count) {
  return static_cast<int64_t>((random * count) >> 32);
}

Placement placementOf(const Augmentation &augmentation, uint64_t seed, uint32_t epoch,
                      uint32_t sample) {
  const PhiloxWords words = philox(seed, {sample, 0, epoch, hashName("augment")});
  const int64_t crop = augmentation.crop;
  const uint64_t places = 2 * uint64_t(augmentation.crop) + 1;
  return {draw(words[0], places) - crop, draw(words[1], places) - crop,
          augmentation.flip && words[2] >> 31 != 0};
}

void placeImage(const Placement &placement, const ImageShape &shape, const std::byte *from,
                std::byte *to) {
  const auto height = static_cast<int64_t>(shape.height), width = static_cast<int64_t>(shape.width);
  const uint64_t bytes = shape.bytesOfPixel;
  std::memset(to, 0, shape.planes * shape.height * shape.width * bytes);
  for (uint64_t plane = 0; plane < shape.planes; ++plane)
    for (int64_t y = 0; y < height; ++y, to += shape.width * bytes) {
      const int64_t row = y + placement.down;
      if (row < 0 || row >= height)
        continue;
      const std::byte *const line =
          from + (plane * shape.height + static_cast<uint64_t>(row)) * shape.width * bytes;
      for (int64_t x = 0; x < width; ++x)
        if (const int64_t column = (placement.mirrored ? width - 1 - x : x) + placement.right;
            column >= 0 && column < width)
          std::memcpy(to + static_cast<uint64_t>(x) * bytes,
                      line + static_cast<uint64_t>(column) * bytes, bytes);
    }
}

} // namespace dlc::runtime
