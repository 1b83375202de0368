//===- MergedAxes.h - the axes that a reduction's loops run over --------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_KERNEL_MERGEDAXES_H
#define DLC_CODEGEN_KERNEL_MERGEDAXES_H

#include "dialects/DL/DL.h"

namespace dlc::codegen {

struct MergedAxis {
  int64_t extent;
  bool reduced;
};

/// Of the tensor that is reduced: neighbours of one kind are one axis, axes of one element none.
llvm::SmallVector<MergedAxis> mergedAxes(dl::ReductionOp op);

} // namespace dlc::codegen

#endif
