//===- JoinPads.h - tensors of zeros around pieces, added up ------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_SIMPLIFY_JOINPADS_H
#define DLC_PASSES_DL_SIMPLIFY_JOINPADS_H

#include "dialects/DL/Ops/DLIndexOps.h"

namespace dlc::dl {

/// Tensors whose sum is that of `pads`, which have one type: what is padded at the same place is
/// added first, and pieces that lie side by side along an axis become one dl.concat, with zeros
/// between them. There are as many as pieces overlap at most, and one for each pad of several axes
/// or with steps. Built in front of `builder`, at `loc`.
llvm::SmallVector<mlir::Value> joinPads(mlir::OpBuilder &builder, mlir::Location loc,
                                        llvm::MutableArrayRef<PadOp> pads);

} // namespace dlc::dl

#endif
