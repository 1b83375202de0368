//===- SplitBlocks.h - a blocked axis becomes two axes ------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_CONVERSION_SPLITBLOCKS_H
#define DLC_PASSES_CONVERSION_SPLITBLOCKS_H

#include "dialects/DL/DL.h"

namespace dlc {

/// What a kernel's body reads and writes in memory: its arguments, then what it yields.
llvm::SmallVector<mlir::Value> storedValues(mlir::Block &body);

/// The axes that the reduction's results have, as the reduced tensor numbers them.
llvm::SmallVector<int64_t> keptAxes(dl::ReductionOp reduction);

/// Rewrites the body of a kernel whose tensors have one blocked axis so that this is two axes: of
/// [2, 32, 4, 5] in blocks of 16 channels, stored as [2, 2, 4, 5, 16], becomes [2, 2, 16, 4, 5]
/// whose layout is a permutation. Where the op is one that can be written so: element-wise,
/// broadcast, concat, pooling, a reduction. Returns whether it was; else nothing changes.
bool splitBlocks(mlir::Block &body);

} // namespace dlc

#endif
