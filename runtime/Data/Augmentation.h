// What happens to images by chance as they are put into batches: a crop of their own size out of
// the image with zeros around it, and a mirror image of half of them (He et al. 2016, section 4.2).
//
// What is drawn for a sample is a function of seed, epoch and the sample's number in the dataset:
// the number of ranks, prefetching and a restart in mid-epoch do not change it.
#ifndef DLC_RUNTIME_DATA_AUGMENTATION_H
#define DLC_RUNTIME_DATA_AUGMENTATION_H

#include "dlc/train.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlc::runtime {

/// "crop:4", "flip" or both with a comma between them.
Result<Augmentation> parseAugmentation(std::string_view text);

/// Where an image's pixels come from: `down` rows and `right` columns further on, in each row from
/// the right where it is mirrored.
struct Placement {
  int64_t down = 0, right = 0;
  bool mirrored = false;
};

/// What is drawn for a sample.
Placement placementOf(const Augmentation &augmentation, uint64_t seed, uint32_t epoch,
                      uint32_t sample);

/// A stack of planes of pixels.
struct ImageShape {
  uint64_t planes, height, width, bytesOfPixel;
};

/// Writes the image as it is placed; pixels from outside of it are 0.
void placeImage(const Placement &placement, const ImageShape &shape, const std::byte *from,
                std::byte *to);

} // namespace dlc::runtime

#endif
