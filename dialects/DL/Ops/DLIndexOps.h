//===- DLIndexOps.h - where an element comes from: shapes, slices, tables -----------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLINDEXOPS_H
#define DLC_DIALECTS_DL_OPS_DLINDEXOPS_H

#include "dialects/DL/DL.h"
#include "dialects/DL/DLPoints.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLIndexOps.h.inc"

namespace dlc::dl {
/// `shape` with the sizes of `index` in the place of `axis`: what dl.gather gives.
llvm::SmallVector<int64_t> lookedUpShape(llvm::ArrayRef<int64_t> shape,
                                         llvm::ArrayRef<int64_t> index, int64_t axis);
} // namespace dlc::dl

#endif
