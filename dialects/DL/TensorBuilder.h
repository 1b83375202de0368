//===- TensorBuilder.h - short names for building dl ops ----------------------------*- C++ -*-===//
//
// Gradient rules, decompositions and update rules are formulas: with this they read like formulas.
// It holds one builder and one location and makes nothing but dl ops.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_TENSORBUILDER_H
#define DLC_DIALECTS_DL_TENSORBUILDER_H

#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLTensorOps.h"

namespace dlc::dl {

struct TensorBuilder {
  using Value = mlir::Value;
  using TensorType = mlir::RankedTensorType;

  mlir::OpBuilder &builder;
  mlir::Location loc;

  static TensorType typeOf(Value value) { return mlir::cast<TensorType>(value.getType()); }

  /// A constant of `type` filled with `value`.
  Value splat(TensorType type, double value) {
    return ConstantOp::createSplat(builder, loc, type, value);
  }
  Value splatLike(Value like, double value) { return splat(typeOf(like), value); }

  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }
  Value subtract(Value a, Value b) { return SubtractOp::create(builder, loc, a, b); }
  Value multiply(Value a, Value b) { return MultiplyOp::create(builder, loc, a, b); }
  Value divide(Value a, Value b) { return DivideOp::create(builder, loc, a, b); }
  Value scale(Value a, double factor) { return multiply(a, splatLike(a, factor)); }
  Value negate(Value a) { return NegateOp::create(builder, loc, a); }
  Value exp(Value a) { return ExpOp::create(builder, loc, a); }
  Value log(Value a) { return LogOp::create(builder, loc, a); }
  Value compare(Predicate predicate, Value a, Value b) {
    return CompareOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return SelectOp::create(builder, loc, b.getType(), condition, a, b);
  }
  /// `a` where the condition holds, else 0.
  Value keepWhere(Value condition, Value a) { return select(condition, a, splatLike(a, 0)); }
  /// 0 where the condition holds, else `a`.
  Value dropWhere(Value condition, Value a) { return select(condition, splatLike(a, 0), a); }
  /// `x` with the element type of `like`.
  Value castLike(Value x, Value like) {
    TensorType type = typeOf(x).clone(typeOf(like).getElementType());
    return type == x.getType() ? x : CastOp::create(builder, loc, type, x).getResult();
  }

  Value reduce(ReduceKind kind, Value x, llvm::ArrayRef<int64_t> axes) {
    return ReduceOp::create(builder, loc, kind, x, axes);
  }
  MomentsOp moments(Value x, llvm::ArrayRef<int64_t> axes) {
    return MomentsOp::create(builder, loc, x, axes);
  }
  Value broadcast(Value x, TensorType type, llvm::ArrayRef<int64_t> dims) {
    return type == x.getType() ? x : BroadcastOp::create(builder, loc, type, x, dims).getResult();
  }
  /// Repeats `x` along those `axes` of `type` that a reduction dropped.
  Value broadcastOver(Value x, TensorType type, llvm::ArrayRef<int64_t> axes) {
    llvm::SmallVector<int64_t> dims;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (!llvm::is_contained(axes, axis))
        dims.push_back(axis);
    return broadcast(x, type.clone(typeOf(x).getElementType()), dims);
  }
  Value reshape(Value x, TensorType type) {
    return type == x.getType() ? x : ReshapeOp::create(builder, loc, type, x).getResult();
  }
  /// Index along `axis`, an integer tensor of the shape `shape`.
  Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type element, int64_t axis) {
    return IotaOp::create(builder, loc, TensorType::get(shape, element), axis);
  }
};

} // namespace dlc::dl

#endif
