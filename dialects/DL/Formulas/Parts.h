//===- Parts.h - rows of tables, and tensors within larger ones ---------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_FORMULAS_PARTS_H
#define DLC_DIALECTS_DL_FORMULAS_PARTS_H

#include "dialects/DL/Builders/TensorBuilder.h"
#include <optional>

namespace dlc::dl::formulas {

/// [..., width]: row `index` [...] of a table [count, width]; zeros, and no gradient, where the
/// index is `padding`.
mlir::Value lookUp(TensorBuilder &b, mlir::Value table, mlir::Value index,
                   std::optional<int64_t> padding);
/// `x` within a tensor of `shape`, `before` elements from the beginning of each axis, and `value`
/// around it.
mlir::Value padWith(TensorBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> before, double value);

} // namespace dlc::dl::formulas

#endif
