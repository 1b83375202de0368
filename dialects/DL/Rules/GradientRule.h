//===- GradientRule.h - what all gradient rules have in common ----------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_RULES_GRADIENTRULE_H
#define DLC_DIALECTS_DL_RULES_GRADIENTRULE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"

namespace dlc::dl {

using Gradients = llvm::ArrayRef<mlir::Value>;
using Wanted = llvm::ArrayRef<bool>;
using OperandGradients = llvm::SmallVectorImpl<mlir::Value>;

/// A gradient flows into operand i: somebody wants it, and it is of floats.
inline bool flowsInto(mlir::Operation *op, Wanted wanted, unsigned i) {
  return wanted[i] &&
         mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(op->getOperand(i).getType()));
}

} // namespace dlc::dl

#endif
