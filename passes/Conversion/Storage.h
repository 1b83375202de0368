//===- Storage.h - constants and flat buffers as bytes ------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_CONVERSION_STORAGE_H
#define DLC_PASSES_CONVERSION_STORAGE_H

#include "dialects/DL/DLProgramOps.h"

namespace dlc {

/// The elements of a constant in the order of its type's layout, padding as zeros, bool as u8.
mlir::DenseElementsAttr packConstant(mlir::DenseElementsAttr value, mlir::RankedTensorType type);

/// Places of the tensors of a stream in its flat buffer: tensor i at offsets[i], each at a multiple
/// of 64.
struct FlatLayout {
  llvm::SmallVector<int64_t> offsets;
  llvm::SmallVector<int64_t> bytes; ///< of each tensor
  int64_t total = 0;                ///< of the whole buffer, a multiple of 64
};

/// The flat layout of every stream and every result of a multi-tensor update.
FlatLayout flatLayout(dl::MultiTensorOp op);

} // namespace dlc

#endif
