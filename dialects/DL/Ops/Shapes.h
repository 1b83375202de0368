//===- Shapes.h - what verifiers ask of shapes and axes -----------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_SHAPES_H
#define DLC_DIALECTS_DL_OPS_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace dlc::dl {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Whether `axes` rise strictly within [0, rank).
inline bool areAxes(llvm::ArrayRef<int64_t> axes, int64_t rank) {
  int64_t previous = -1;
  for (int64_t axis : axes) {
    if (axis <= previous || axis >= rank)
      return false;
    previous = axis;
  }
  return true;
}

/// Where each of `axes` stands in `order`.
inline llvm::SmallVector<int64_t> placesOf(llvm::ArrayRef<int64_t> axes,
                                           llvm::ArrayRef<int64_t> order) {
  return llvm::map_to_vector(
      axes, [&](int64_t axis) -> int64_t { return llvm::find(order, axis) - order.begin(); });
}

} // namespace dlc::dl

#endif
