//===- SplitBlocks.h - a blocked axis becomes two axes ------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_CONVERSION_SPLITBLOCKS_H
#define DLC_PASSES_CONVERSION_SPLITBLOCKS_H

#include "dialects/DL/DL.h"

namespace dlc {

/// What a kernel's body reads and writes in memory: its arguments, then what it yields.
llvm::SmallVector<mlir::Value> storedValues(mlir::Block &body);

/// Rewrites the body of a kernel whose tensors have one blocked axis so that this is two axes: of
/// [2, 32, 4, 5] in blocks of 16 channels, stored as [2, 2, 4, 5, 16], becomes [2, 2, 16, 4, 5]
/// whose layout is a permutation. Where all ops can be written so: those that are element-wise, and
/// each SplittableOp. Returns whether it was; else nothing changes.
bool splitBlocks(mlir::Block &body);

} // namespace dlc

#endif
