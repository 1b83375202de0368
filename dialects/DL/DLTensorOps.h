//===- DLTensorOps.h - the tensor ops of the dl dialect -----------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLTENSOROPS_H
#define DLC_DIALECTS_DL_DLTENSOROPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLTensorOps.h.inc"

namespace dlc::dl {
/// Whether one loop nest serves both: equal shapes are combined along equal axes.
bool shareLoops(ReductionOp a, ReductionOp b);

/// `shape` with the sizes of `index` in the place of `axis`: what dl.gather gives.
llvm::SmallVector<int64_t> lookedUpShape(llvm::ArrayRef<int64_t> shape,
                                         llvm::ArrayRef<int64_t> index, int64_t axis);
} // namespace dlc::dl

#endif
