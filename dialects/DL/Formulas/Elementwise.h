//===- Elementwise.h - activations and other formulas of one element ----------------*- C++ -*-===//
//
// The formulas of this folder are what programs are written with beside the ops: functions on
// values that build dl ops, whatever frontend calls them. They check nothing: who calls them has
// seen that shapes and types fit.
//
// Each is written so that neither it nor its gradient overflows where the result is finite: exp
// sees no positive numbers, and a branch that `select` drops holds no infinity whose gradient would
// be NaN.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FORMULAS_ELEMENTWISE_H
#define DLC_DIALECTS_DL_FORMULAS_ELEMENTWISE_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl::formulas {

// Activations.
mlir::Value relu6(TensorBuilder &b, mlir::Value x);
/// x, or slope * x below 0.
mlir::Value leakyRelu(TensorBuilder &b, mlir::Value x, double slope);
/// x, or alpha * (exp(x) - 1) below 0.
mlir::Value elu(TensorBuilder &b, mlir::Value x, double alpha);
/// Scaled elu that keeps mean 0 and variance 1.
mlir::Value selu(TensorBuilder &b, mlir::Value x);
/// x * Phi(x); `tanh` takes Phi's formula with tanh.
mlir::Value gelu(TensorBuilder &b, mlir::Value x, bool tanh);
/// relu6(x + 3) / 6
mlir::Value hardsigmoid(TensorBuilder &b, mlir::Value x);

// Numbers.
/// 1 / sqrt(x)
mlir::Value inverseRoot(TensorBuilder &b, mlir::Value x);
/// -1, 0 or 1.
mlir::Value sign(TensorBuilder &b, mlir::Value x);
/// The root of a sum of squares; its gradient is 0 where the sum is.
mlir::Value rootOfSquares(TensorBuilder &b, mlir::Value sum);

// Shapes.
/// NumPy's broadcasting: `x` repeated to `shape` along new axes on the left and axes of size 1.
mlir::Value expandTo(TensorBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> shape);

// Bools.
mlir::Value both(TensorBuilder &b, mlir::Value p, mlir::Value q);
mlir::Value either(TensorBuilder &b, mlir::Value p, mlir::Value q);
mlir::Value isNot(TensorBuilder &b, mlir::Value p);

} // namespace dlc::dl::formulas

#endif
