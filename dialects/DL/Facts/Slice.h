//===- Slice.h - what values are computed from --------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_SLICE_H
#define DLC_DIALECTS_DL_FACTS_SLICE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace dlc::dl {

/// Values that `values` are computed from, themselves included, in their region. Without recursion,
/// for chains of any length.
inline llvm::SetVector<mlir::Value> backwardSlice(mlir::ValueRange values) {
  llvm::SetVector<mlir::Value> slice(values.begin(), values.end());
  for (size_t i = 0; i < slice.size(); ++i)
    if (mlir::Operation *op = slice[i].getDefiningOp())
      slice.insert(op->operand_begin(), op->operand_end());
  return slice;
}

} // namespace dlc::dl

#endif
