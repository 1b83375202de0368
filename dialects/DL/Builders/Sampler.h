//===- Sampler.h - the pixels that a sample of an image is made of ------------------*- C++ -*-===//
//
// What dl.grid_sample, its gradients and their generators share.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_SAMPLER_H
#define DLC_DIALECTS_DL_BUILDERS_SAMPLER_H

#include "dialects/DL/Builders/PointBuilder.h"

namespace dlc::dl {

/// How a grid's numbers are places of an image [N, C, H, W].
struct SampleForm {
  mlir::Value grid;
  int64_t height, width;
  bool nearest, border, reflect, alignCorners;

  template <typename Op> static SampleForm get(Op op, mlir::Value image) {
    auto shape = mlir::cast<mlir::RankedTensorType>(image.getType()).getShape();
    return {op.getGrid(),        shape[2],       shape[3],
            op.getNearest(),     op.getBorder(), op.getReflect(),
            op.getAlignCorners()};
  }
};

/// What grid[n, p, q] reads.
struct SampledPixels {
  struct Pixel {
    mlir::Value inside;         ///< whether the image has it
    mlir::Value h, w;           ///< where, 0 if it has not
    mlir::Value shareH, shareW; ///< along each axis
    bool isSecondH, isSecondW;  ///< of the two beside the place
  };
  /// Row by row: four, or the nearest.
  llvm::SmallVector<Pixel, 4> pixels;
  /// How the place moves, in pixels, with the grid's number along each axis.
  mlir::Value slopeH, slopeW;
};
SampledPixels sampledPixels(PointBuilder &e, const SampleForm &form, mlir::Value n, mlir::Value p,
                            mlir::Value q);
/// The share that pixel (h, w) has there, 0 of most.
mlir::Value sampledShare(PointBuilder &e, const SampleForm &form, mlir::Value n, mlir::Value p,
                         mlir::Value q, mlir::Value h, mlir::Value w);

} // namespace dlc::dl

#endif
