//===- DLFusedOps.h - regions that become kernels -----------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLFUSEDOPS_H
#define DLC_DIALECTS_DL_OPS_DLFUSEDOPS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// What dl-choose notes of a dl.fused: the candidate that it has taken, and the one that would come
/// next, with what it takes around it. Dictionaries of `generator` and `schedule` (texts, both or
/// none), `seconds` (f64), `workspace` (i64, bytes) and `not_in_place` (unit).
inline constexpr llvm::StringLiteral chosenName = "dl.candidate";
inline constexpr llvm::StringLiteral secondBestName = "dl.second_best";

} // namespace dlc::dl

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLFusedOps.h.inc"

#endif
