//===- TileFunctions.h - transforms of tiles as functions of a kernel ---------------*- C++ -*-===//
//
// A transform is some hundred operations, the same for all sizes of images, channels and batches.
// So it is a function to which the tile's and the points' places come as arguments: kernels of
// many sizes have it in equal words, and it is compiled once for all of them (Kernel/Routines.h).
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_WINOGRAD_TILEFUNCTIONS_H
#define DLC_CODEGEN_CPU_WINOGRAD_TILEFUNCTIONS_H

#include "codegen/CPU/Winograd/TileTransform.h"

namespace dlc::codegen {

/// A tile's pixels and the points of its transform in memory, a vector of channels each. Distances
/// in elements; columns of pixels stand beside each other.
struct TilePlaces {
  mlir::Value pixels;
  int64_t rowStride;
  mlir::Value points;
  int64_t pointStride, partStride;
  mlir::Value numbers;  ///< TileTransform::bufferVectors()
  bool streams = false; ///< whether points go past the caches, to be ended by PackEmitter
  bool clears = false;  ///< whether points that the tile does not have become zero
};

/// Call the function of the module that goes from pixels to points, or back.
void callToPoints(PackEmitter &e, const TileTransform &transform, TileTransform::Side side,
                  const TilePlaces &places);
void callToPixels(PackEmitter &e, const TileTransform &transform, TileTransform::Side side,
                  const TilePlaces &places);

/// Of a part of a point's number; `base` is that of point 0.
mlir::Value pointPlace(PackEmitter &e, mlir::Value base, mlir::Value point, int64_t pointStride,
                       int64_t part, int64_t partStride);

} // namespace dlc::codegen

#endif
