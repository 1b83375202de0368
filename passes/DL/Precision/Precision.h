//===- Precision.h - what an op may compute in --------------------------------------*- C++ -*-===//
//
// The rules of PyTorch's autocast. Products and convolutions multiply what 16 bits hold and add it
// up in f32: their operands and results are narrow. What is a function of a sum, of an exponential
// or of a small difference is computed in f32.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_PRECISION_PRECISION_H
#define DLC_PASSES_DL_PRECISION_PRECISION_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc::dl {

enum class Precision {
  Narrow,  ///< operands and results of 16 bits
  Wide,    ///< operands and results of f32
  Rounded, ///< computed in f32, the result rounded once to the type of its first operand
  Widest,  ///< operands and results of the type of its widest operand
};

Precision precisionOf(mlir::Operation *op);

/// Whether libraries may round to TF32 what an op of f32 multiplies.
bool takesTF32(mlir::Operation *op);
/// Gives those that take it, from behind `before` (null: from the block's first) to `end`, the TF32
/// of `op`, from which they were made.
void passTF32On(mlir::Operation *op, mlir::Operation *before, mlir::Operation *end);

/// Whether each element of the op's gradient is rounded more than once where the rule is computed
/// in the op's own type of 16 bits.
bool roundsGradient(mlir::Operation *op);

/// Warns of sums and softmax that the program keeps in 16 bits where these are too few for them.
void warnOfLosses(mlir::ModuleOp module);

} // namespace dlc::dl

#endif
