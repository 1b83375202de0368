//===- Storage.h - how many bytes a tensor takes, and in which order they stand -----*- C++ -*-===//
//
// The one place where a layout becomes bytes: everything behind it (exec, plan, kernels' buffers)
// counts bytes.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_CONVERSION_STORAGE_H
#define DLC_PASSES_CONVERSION_STORAGE_H

#include "dialects/DL/DLProgramOps.h"

namespace dlc {

/// Bytes of one element in memory; bool takes one.
int64_t elementBytes(mlir::Type type);

/// Bytes of a tensor in its physical layout, padding included.
int64_t storageBytes(mlir::RankedTensorType type);

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
