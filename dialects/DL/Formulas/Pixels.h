//===- Pixels.h - pixels and channels beside each other -----------------------------*- C++ -*-===//
//
// Of images [N, C, spatial...].
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FORMULAS_PIXELS_H
#define DLC_DIALECTS_DL_FORMULAS_PIXELS_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl::formulas {

/// Each pixel `factor` times along every spatial axis.
mlir::Value upsampleNearest(TensorBuilder &b, mlir::Value x, int64_t factor);
/// The same, between the four pixels beside each place. The corners of both images are one place,
/// or the corners of their corner pixels are.
mlir::Value upsampleBilinear(TensorBuilder &b, mlir::Value x, int64_t factor, bool alignCorners);
/// [N, C r r, H, W] -> [N, C, H r, W r], channel c r r + i r + j to pixel (i, j) of each square.
mlir::Value pixelShuffle(TensorBuilder &b, mlir::Value x, int64_t r);

/// A window a result along a spatial axis, `count` of them, from floor(i * size / count) to
/// ceil((i + 1) * size / count): the maximum of each, or the mean.
mlir::Value poolInParts(TensorBuilder &b, bool isMaximum, mlir::Value x, int64_t axis,
                        int64_t count);

} // namespace dlc::dl::formulas

#endif
