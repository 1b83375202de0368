//===- Norm.h - norms that neither overflow nor vanish ------------------------------*- C++ -*-===//
//
// The squares of f32 overflow from 2^64 on and vanish below 2^-75. In f64 none of them does, so
// squares of narrower types are added up there. Those of f64 are added up three times: as they are,
// of elements that are 2^600 times smaller, and of such that are as much larger. Which of the sums
// is good is known when all are there: no element is looked at twice, and the order is fixed.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_UPDATE_NORM_H
#define DLC_PASSES_DL_UPDATE_NORM_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl {

/// What is added up for a norm, f64 each, of an element; all are 0 where it is. `isWide`: elements
/// of f64 take part in the norm.
llvm::SmallVector<mlir::Value> squaresForNorm(TensorBuilder &b, mlir::Value x, bool isWide);
/// The norm, of the sums of these, of any shape.
mlir::Value normOfSums(TensorBuilder &b, mlir::ValueRange sums);
/// The one of these sums that is finite if all elements are.
inline mlir::Value leastOfSquares(mlir::ValueRange sums) { return sums.back(); }

} // namespace dlc::dl

#endif
