//===- Buffers.h - what the values of an entry are in memory ------------------------*- C++ -*-===//
//
// For passes that work on the order of execution: which ops run, which values share a buffer, how
// large it is and how long an op takes.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_MEMORY_BUFFERS_H
#define DLC_PASSES_DL_MEMORY_BUFFERS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {
class FusedOp;

/// Whether the result of an op outside of regions is memory of its operand's, the whole or a piece.
bool isView(mlir::Operation *op);

/// The value in whose buffer `value` lies.
mlir::Value bufferOf(mlir::Value value);

/// Whether the operands of an op outside of regions are pieces of its result's memory: computed
/// there, where they are computed and lie nowhere else, or copied.
bool isJoin(mlir::Operation *op);

/// The join in whose result `value` is computed: the first that has it as an operand, if a kernel
/// or a join makes it. Null if it has memory of its own.
IndexOp joinOf(mlir::Value value);

int64_t bytesOf(mlir::Value value);
int64_t bytesOfAll(mlir::ValueRange values);

/// Whether all results of a region are empty: then no kernel runs, and none is asked for.
bool runsNothing(FusedOp fused);

/// The candidate that dl-choose has taken for a region; null if it has not seen it.
program::CandidateAttr chosenFor(mlir::Operation *op);

/// By the candidate that dl-choose has taken; without one by the bytes, of which a core moves some
/// ten in a nanosecond.
double secondsOf(mlir::Operation *op);

/// An operand and a result of a region, by their numbers.
struct InPlacePair {
  unsigned operand, result;
};

/// Of a region that updates variables: its results are all behind the anchor and assigned, and its
/// code reads all that it needs for an element of them before it writes any of it.
inline constexpr llvm::StringLiteral updateAttr = "dl.update";

/// Which results may lie in which operands: where computing the result's element needs the
/// operand's element at the same index and nothing else of the operand, and no other result needs
/// the operand, but for reductions of the result behind an anchor, or all are of an update. Then no
/// order in which a generator computes elements can read what has been overwritten.
llvm::SmallVector<InPlacePair> findInPlacePairs(FusedOp fused);

} // namespace dlc::dl

#endif
