//===- BatchDivision.h - how an op runs on a part of the batch ----------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FACTS_BATCHDIVISION_H
#define DLC_DIALECTS_DL_FACTS_BATCHDIVISION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace dlc::dl {

/// Of an op that keeps its attributes when the leading axis of some of its tensors is a part of the
/// batch.
struct BatchDivision {
  llvm::SmallVector<unsigned> operands; ///< that have the batch as their leading axis
  bool isSum = false;                   ///< results are sums over the batch, else they have it, too
};

/// The size of the axis that may be the batch; 0 for a scalar.
inline int64_t leadingSize(mlir::Value value) {
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  return type.getRank() == 0 ? 0 : type.getDimSize(0);
}

} // namespace dlc::dl

#endif
