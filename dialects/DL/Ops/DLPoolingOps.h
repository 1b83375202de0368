//===- DLPoolingOps.h - pooling -----------------------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLPOOLINGOPS_H
#define DLC_DIALECTS_DL_OPS_DLPOOLINGOPS_H

#include "dialects/DL/DL.h"
#include "dialects/DL/DLPoints.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLPoolingOps.h.inc"

namespace dlc::dl {
/// What all windows answer as SplittableOp: the axis of channels can be split.
std::optional<llvm::SmallVector<ValueAxis>> windowAlong(WindowOp op, int64_t axis);
void splitWindow(WindowOp op, llvm::function_ref<std::optional<int64_t>(mlir::Value)> axisOf);
} // namespace dlc::dl

#endif
