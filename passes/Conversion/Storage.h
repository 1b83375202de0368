//===- Storage.h - constants as bytes -----------------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_CONVERSION_STORAGE_H
#define DLC_PASSES_CONVERSION_STORAGE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace dlc {

/// The elements of a constant in the order of its type's layout, padding as zeros, bool as u8.
mlir::DenseElementsAttr packConstant(mlir::DenseElementsAttr value, mlir::RankedTensorType type);

} // namespace dlc

#endif
