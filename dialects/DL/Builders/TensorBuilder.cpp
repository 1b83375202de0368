//===- TensorBuilder.cpp - short names for building ops of tensors ----------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"

using namespace mlir;
using namespace dlc::dl;

Value TensorBuilder::splat(TensorType type, double value) {
  return ConstantOp::createSplat(builder, loc, type, value);
}

Value TensorBuilder::add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }

Value TensorBuilder::subtract(Value a, Value b) { return SubtractOp::create(builder, loc, a, b); }

Value TensorBuilder::multiply(Value a, Value b) { return MultiplyOp::create(builder, loc, a, b); }

Value TensorBuilder::divide(Value a, Value b) { return DivideOp::create(builder, loc, a, b); }

Value TensorBuilder::negate(Value a) { return NegateOp::create(builder, loc, a); }

Value TensorBuilder::exp(Value a) { return ExpOp::create(builder, loc, a); }

Value TensorBuilder::log(Value a) { return LogOp::create(builder, loc, a); }

Value TensorBuilder::sqrt(Value a) { return SqrtOp::create(builder, loc, a); }

Value TensorBuilder::tanh(Value a) { return TanhOp::create(builder, loc, a); }

Value TensorBuilder::sigmoid(Value a) { return SigmoidOp::create(builder, loc, a); }

Value TensorBuilder::erf(Value a) { return ErfOp::create(builder, loc, a); }

Value TensorBuilder::abs(Value a) { return AbsOp::create(builder, loc, a); }

Value TensorBuilder::maximum(Value a, Value b) { return MaximumOp::create(builder, loc, a, b); }

Value TensorBuilder::atMost(Value a, double limit) {
  return MinimumOp::create(builder, loc, a, splatLike(a, limit));
}

Value TensorBuilder::raise(Value a, Value b) { return PowerOp::create(builder, loc, a, b); }

Value TensorBuilder::compare(Predicate predicate, Value a, Value b) {
  return CompareOp::create(builder, loc, predicate, a, b);
}

Value TensorBuilder::select(Value condition, Value a, Value b) {
  return SelectOp::create(builder, loc, b.getType(), condition, a, b);
}

Value TensorBuilder::cast(Value x, Type element) {
  TensorType type = typeOf(x).clone(element);
  return type == x.getType() ? x : CastOp::create(builder, loc, type, x).getResult();
}

Value TensorBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes) {
  return ReduceOp::create(builder, loc, kind, x, axes);
}

Value TensorBuilder::sumOverRanks(Value x) {
  return AllReduceOp::create(builder, loc, x, /*channel=*/1).getYs()[0];
}

MomentsOp TensorBuilder::moments(Value x, ArrayRef<int64_t> axes) {
  return MomentsOp::create(builder, loc, x, axes);
}

Value TensorBuilder::broadcast(Value x, TensorType type, ArrayRef<int64_t> dims) {
  return type == x.getType() ? x : BroadcastOp::create(builder, loc, type, x, dims).getResult();
}

Value TensorBuilder::reshape(Value x, TensorType type) {
  return type == x.getType() ? x : ReshapeOp::create(builder, loc, type, x).getResult();
}

Value TensorBuilder::part(Value x, int64_t index, int64_t axis) {
  Value number = splat(TensorType::get({}, builder.getI32Type()), double(index));
  return GatherOp::create(builder, loc, x, number, axis);
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, Type element, int64_t axis) {
  return IotaOp::create(builder, loc, TensorType::get(shape, element), ArrayRef<int64_t>(axis),
                        nullptr);
}
