// Images as one picture, in rows and columns, for people to look at.
#ifndef DLC_RUNTIME_DATA_SHEET_H
#define DLC_RUNTIME_DATA_SHEET_H

#include "runtime/Data/DatasetImages.h"

#include <span>

namespace dlc::runtime {

struct Sheet {
  /// Pixels around each image, which are white.
  static constexpr uint64_t gap = 2;
  Picture picture;
  uint64_t rows, columns;
  /// Of the cell that each image has the middle of.
  uint64_t height, width;
  /// The numbers that are black and white.
  float least, most;
};

/// Images of these samples, behind the transforms with what is drawn for them in an epoch, as they
/// were before they were normalised. Fails with InvalidArgument where they are too many pixels to
/// look at.
Result<Sheet> drawSheet(const DatasetImages &images, const TransformList &list,
                        std::span<const uint32_t> samples, uint64_t seed, uint32_t epoch);

} // namespace dlc::runtime

#endif
