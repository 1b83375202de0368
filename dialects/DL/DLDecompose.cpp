//===- DLDecompose.cpp - the formulas of composites in primitives -----------------------------===//
//
// The interpreter under test/ computes composites by their own formulas, so that an error here
// cannot hide.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/TensorBuilder.h"
#include <limits>

using namespace mlir;
using namespace dlc::dl;

/// What the softmax family shares: x is [..., classes, ...] with the classes on `axis`, label is
/// [...] without it.
namespace {
struct Classes {
  TensorBuilder &b;
  Value x, label;
  int64_t axis;

  RankedTensorType type() const { return b.typeOf(x); }
  Value spread(Value perSample) const { return b.broadcastOver(perSample, type(), {axis}); }
  Value reduce(ReduceKind kind, Value value) const { return b.reduce(kind, value, {axis}); }

  /// Class numbers in the type of the labels.
  Value numbers() const {
    return b.iota(type().getShape(), b.typeOf(label).getElementType(), axis);
  }
  /// Whether the element belongs to the label's class.
  Value oneHot() const { return b.compare(Predicate::EQ, numbers(), spread(label)); }
  /// `perSample` where the label is a class, else 0.
  Value whereLabelled(Value perSample) const {
    Value low = b.compare(Predicate::GE, label, b.splatLike(label, 0));
    Value high =
        b.compare(Predicate::LT, label, b.splatLike(label, double(type().getDimSize(axis))));
    return b.keepWhere(low, b.keepWhere(high, perSample));
  }
  /// x - max x: the same softmax, and exp of it cannot overflow.
  Value shifted() const { return b.subtract(x, spread(reduce(ReduceKind::Max, x))); }
};
} // namespace

SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Classes c{b, getLogits(), getLabel(), int64_t(getAxis())};
  Value shifted = c.shifted();
  Value logSum = b.log(c.reduce(ReduceKind::Sum, b.exp(shifted)));
  Value picked = c.reduce(ReduceKind::Sum, b.keepWhere(c.oneHot(), shifted));
  return {c.whereLabelled(b.subtract(logSum, picked))};
}

SmallVector<Value> SoftmaxCrossEntropyBackwardOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Classes c{b, getLogits(), getLabel(), int64_t(getAxis())};
  Value exps = b.exp(c.shifted());
  Value softmax = b.divide(exps, c.spread(c.reduce(ReduceKind::Sum, exps)));
  Value error = b.subtract(softmax, b.castLike(c.oneHot(), getLogits()));
  return {b.multiply(c.spread(c.whereLabelled(getDloss())), error)};
}

SmallVector<Value> AccuracyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Classes c{b, getLogits(), getLabel(), int64_t(getAxis())};
  Value largest = c.spread(c.reduce(ReduceKind::Max, getLogits()));
  Value numbers = c.numbers();
  // The first of the largest: the smallest number among them. No class has the filler's number.
  Value filler = b.splatLike(numbers, std::numeric_limits<int32_t>::max());
  Value candidates = b.select(b.compare(Predicate::EQ, getLogits(), largest), numbers, filler);
  Value predicted = c.reduce(ReduceKind::Min, candidates);
  Value correct = b.compare(Predicate::EQ, predicted, getLabel());
  return {c.whereLabelled(b.castLike(correct, getLogits()))};
}
