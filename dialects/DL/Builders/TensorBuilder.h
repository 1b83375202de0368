//===- TensorBuilder.h - short names for building dl ops ----------------------------*- C++ -*-===//
//
// Gradient rules, decompositions and update rules are formulas: with this they read like formulas.
// It holds one builder and one location and makes nothing but dl ops.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_BUILDERS_TENSORBUILDER_H
#define DLC_DIALECTS_DL_BUILDERS_TENSORBUILDER_H

#include "dialects/DL/DL.h"
#include <cmath>

namespace dlc::dl {
class MomentsOp;

struct TensorBuilder {
  using Value = mlir::Value;
  using TensorType = mlir::RankedTensorType;

  mlir::OpBuilder &builder;
  mlir::Location loc;

  static TensorType typeOf(Value value) { return mlir::cast<TensorType>(value.getType()); }

  /// A constant of `type` filled with `value`.
  Value splat(TensorType type, double value);
  Value splatLike(Value like, double value) { return splat(typeOf(like), value); }

  Value add(Value a, Value b);
  Value subtract(Value a, Value b);
  Value multiply(Value a, Value b);
  Value divide(Value a, Value b);
  /// `a` times a factor of another type, computed in that and rounded to the type of `a` once.
  Value multiplyBy(Value a, Value factor) {
    return castLike(multiply(castLike(a, factor), factor), a);
  }
  Value scale(Value a, double factor) { return multiply(a, splatLike(a, factor)); }
  Value negate(Value a);
  Value exp(Value a);
  Value log(Value a);
  Value sqrt(Value a);
  Value tanh(Value a);
  Value sigmoid(Value a);
  Value erf(Value a);
  Value abs(Value a);
  Value shift(Value a, double by) { return add(a, splatLike(a, by)); }
  Value maximum(Value a, Value b);
  Value atLeast(Value a, double limit) { return maximum(a, splatLike(a, limit)); }
  Value atMost(Value a, double limit);
  /// Whether `a` is above `limit`.
  Value above(Value a, double limit) { return compare(Predicate::GT, a, splatLike(a, limit)); }
  /// `a`, or 1 where it is not above 0: a divisor of what is 0 there.
  Value aboveZeroOrOne(Value a) { return select(above(a, 0), a, splatLike(a, 1)); }
  /// log(1 + exp(a)), in which exp sees no positive numbers.
  Value softplus(Value a) { return add(atLeast(a, 0), log(shift(exp(negate(abs(a))), 1))); }
  /// `a` to the power `b`.
  Value raise(Value a, Value b);
  /// `a` to the power of a number: by squaring where it is whole.
  Value power(Value a, double exponent) {
    if (exponent == 0)
      return splatLike(a, 1);
    constexpr double mostProducts = 1024;
    bool isWhole = exponent == std::floor(exponent) && std::abs(exponent) <= mostProducts;
    if (!isWhole && exponent != 0.5)
      return exp(scale(log(a), exponent));
    Value result = isWhole ? wholePower(a, std::abs(int64_t(exponent))) : sqrt(a);
    return exponent < 0 ? divide(splatLike(result, 1), result) : result;
  }
  Value compare(Predicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// `a` where the condition holds, else 0.
  Value keepWhere(Value condition, Value a) { return select(condition, a, splatLike(a, 0)); }
  /// 0 where the condition holds, else `a`.
  Value dropWhere(Value condition, Value a) { return select(condition, splatLike(a, 0), a); }
  /// `x` with elements of this type.
  Value cast(Value x, mlir::Type element);
  /// `x` with the element type of `like`.
  Value castLike(Value x, Value like) { return cast(x, typeOf(like).getElementType()); }

  Value reduce(ReduceKind kind, Value x, llvm::ArrayRef<int64_t> axes);
  /// Of a small tensor that the next op waits for.
  Value sumOverRanks(Value x);
  MomentsOp moments(Value x, llvm::ArrayRef<int64_t> axes);
  Value broadcast(Value x, TensorType type, llvm::ArrayRef<int64_t> dims);
  /// Repeats `x` along those `axes` of `type` that a reduction dropped.
  Value broadcastOver(Value x, TensorType type, llvm::ArrayRef<int64_t> axes) {
    llvm::SmallVector<int64_t> dims;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (!llvm::is_contained(axes, axis))
        dims.push_back(axis);
    return broadcast(x, type.clone(typeOf(x).getElementType()), dims);
  }
  Value reshape(Value x, TensorType type);
  /// What has number `index` along `axis`, which is dropped.
  Value part(Value x, int64_t index, int64_t axis);
  /// Index along `axis`, an integer tensor of the shape `shape`.
  Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type element, int64_t axis);

private:
  /// `exponent` is above 0.
  Value wholePower(Value a, int64_t exponent) {
    Value result, square = a;
    for (int64_t rest = exponent; rest != 0; rest /= 2) {
      if (rest % 2 != 0)
        result = result ? multiply(result, square) : square;
      if (rest > 1)
        square = multiply(square, square);
    }
    return result;
  }
};

} // namespace dlc::dl

#endif
