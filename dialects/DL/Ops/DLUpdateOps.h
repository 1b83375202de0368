//===- DLUpdateOps.h - updates of many tensors at once, and the numbers of a step ---*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLUPDATEOPS_H
#define DLC_DIALECTS_DL_OPS_DLUPDATEOPS_H

#include "dialects/DL/Ops/DLFusedOps.h"

namespace dlc::dl {
/// Of a module: the width of the narrowest element of all its updates, so that a stream that
/// several of them read lies for each as it lies for the others.
inline constexpr llvm::StringLiteral narrowestName = "dl.narrowest";
} // namespace dlc::dl

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLUpdateOps.h.inc"

#endif
