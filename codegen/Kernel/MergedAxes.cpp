//===- MergedAxes.cpp - the axes that a reduction's loops run over ----------------------------===//
#include "codegen/Kernel/MergedAxes.h"

using namespace mlir;

namespace dlc::codegen {

SmallVector<MergedAxis> mergedAxes(dl::ReductionOp op) {
  SmallVector<MergedAxis> axes;
  auto shape = cast<RankedTensorType>(op.getReduced().getType()).getShape();
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    bool reduced = llvm::is_contained(op.getReducedAxes(), int64_t(axis));
    if (extent == 1)
      continue;
    if (!axes.empty() && axes.back().reduced == reduced)
      axes.back().extent *= extent;
    else
      axes.push_back({extent, reduced});
  }
  return axes;
}

} // namespace dlc::codegen
