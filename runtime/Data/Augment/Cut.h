// Parts of images: which one the next transforms of a list take, and what they make of it. It is
// known before the image is read, so that no more of it need be decoded.
#ifndef DLC_RUNTIME_DATA_AUGMENT_CUT_H
#define DLC_RUNTIME_DATA_AUGMENT_CUT_H

#include "runtime/Data/Augment/Draws.h"
#include "runtime/Data/Augment/Transforms.h"
#include "runtime/Data/SampleShape.h"

#include <optional>

namespace dlc::runtime {

struct Cut {
  CutAxis rows, columns;
  Filter filter = Filter::Bilinear;
  /// How many transforms it stands for; 0: none, and it takes the whole as it is.
  size_t transforms = 0;
};

/// What the transforms from number `at` on cut out of an image.
Cut cutOf(const TransformList &list, size_t at, const SampleDraws &draws, uint32_t height,
          uint32_t width);

/// What a cut reads of a picture, in whole pixels.
PictureRequest requestOf(const Cut &cut);

/// The same cut of what was decoded, where `region` is what was asked for.
Cut decodedCut(const Cut &cut, const PictureRequest &request, const PictureRegion &region,
               const Picture &picture);

/// Where the middle `size` of `count` numbers begins: below 0 if there are fewer.
int64_t middleOf(uint32_t count, uint32_t size);

/// What a list makes of images of a size, which may not be known; nothing where that decides it.
std::optional<Sides> sidesBehind(const TransformList &list, std::optional<Sides> sides);

} // namespace dlc::runtime

#endif
