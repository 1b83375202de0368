//===- Elementwise.cpp - see Elementwise.h ----------------------------------------------------===//
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"

using namespace mlir;

namespace dlc::dl::formulas {

//===------------------------------------------------------------------------------------------===//
// Activations
//===------------------------------------------------------------------------------------------===//

Value relu6(TensorBuilder &b, Value x) { return b.atMost(b.atLeast(x, 0), 6); }

Value leakyRelu(TensorBuilder &b, Value x, double slope) {
  Value isAbove = b.above(x, 0);
  return b.select(isAbove, x, b.scale(x, slope));
}

Value elu(TensorBuilder &b, Value x, double alpha) {
  return EluOp::create(b.builder, b.loc, x.getType(), x, llvm::APFloat(alpha));
}

Value selu(TensorBuilder &b, Value x) {
  return b.scale(elu(b, x, 1.6732632423543772), 1.0507009873554805);
}

Value gelu(TensorBuilder &b, Value x, bool tanh) {
  return GeluOp::create(b.builder, b.loc, x, /*exact=*/!tanh);
}

Value hardsigmoid(TensorBuilder &b, Value x) {
  return b.scale(b.atMost(b.atLeast(b.shift(x, 3), 0), 6), 1.0 / 6);
}

//===------------------------------------------------------------------------------------------===//
// Numbers
//===------------------------------------------------------------------------------------------===//

Value inverseRoot(TensorBuilder &b, Value x) {
  Value one = b.splatLike(x, 1);
  return b.divide(one, b.sqrt(x));
}

Value sign(TensorBuilder &b, Value x) {
  Value zero = b.splatLike(x, 0), one = b.splatLike(x, 1);
  Value isBelow = b.compare(Predicate::LT, x, zero);
  Value negative = b.select(isBelow, b.splatLike(x, -1), zero);
  return b.select(b.above(x, 0), one, negative);
}

Value rootOfSquares(TensorBuilder &b, Value sum) {
  Value isPositive = b.above(sum, 0);
  Value root = b.sqrt(b.select(isPositive, sum, b.splatLike(sum, 1)));
  return b.keepWhere(isPositive, root);
}

//===------------------------------------------------------------------------------------------===//
// Shapes
//===------------------------------------------------------------------------------------------===//

Value expandTo(TensorBuilder &b, Value x, ArrayRef<int64_t> shape) {
  const RankedTensorType type = b.typeOf(x);
  const int64_t added = int64_t(shape.size()) - type.getRank();
  return b.broadcast(x, type.clone(shape),
                     llvm::to_vector(llvm::seq<int64_t>(added, int64_t(shape.size()))));
}

//===------------------------------------------------------------------------------------------===//
// Bools
//===------------------------------------------------------------------------------------------===//

Value both(TensorBuilder &b, Value p, Value q) { return b.keepWhere(p, q); }

Value either(TensorBuilder &b, Value p, Value q) { return b.select(p, b.splatLike(q, 1), q); }

Value isNot(TensorBuilder &b, Value p) {
  Value no = b.splatLike(p, 0);
  return b.select(p, no, b.splatLike(p, 1));
}

} // namespace dlc::dl::formulas
