//===- DLDecompose.cpp - the formulas of composites in primitives -----------------------------===//
//
// The interpreter under test/ computes composites by their own formulas, so that an error here
// cannot hide.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Rules/Classes.h"
#include <limits>
#include <numbers>

using namespace mlir;
using namespace dlc::dl;

/// x - max x along the axis: the same softmax, and exp of it cannot overflow.
static Value shiftedBelowZero(TensorBuilder &b, Value x, int64_t axis) {
  return b.subtract(x, b.broadcastOver(b.reduce(ReduceKind::Max, x, {axis}), b.typeOf(x), {axis}));
}

static Value softmax(TensorBuilder &b, Value x, int64_t axis) {
  Value exps = b.exp(shiftedBelowZero(b, x, axis));
  return b.divide(exps,
                  b.broadcastOver(b.reduce(ReduceKind::Sum, exps, {axis}), b.typeOf(x), {axis}));
}

/// The sum of exp z and the label's z, where z = x - max x, class by class.
static std::pair<Value, Value> sumClassByClass(const Classes &c) {
  TensorBuilder &b = c.b;
  Value largest = c.of(0);
  for (int64_t number = 1; number < c.count(); ++number)
    largest = b.maximum(largest, c.of(number));
  Value sum, picked;
  for (int64_t number = 0; number < c.count(); ++number) {
    Value shifted = b.subtract(c.of(number), largest), exp = b.exp(shifted);
    sum = sum ? b.add(sum, exp) : exp;
    picked = b.select(c.isLabel(number), shifted, picked ? picked : b.splatLike(shifted, 0));
  }
  return {sum, picked};
}

SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Classes c = Classes::get(b, getLogits(), getLabel(), getAxis());
  Value logSum, picked;
  if (c.areFew()) {
    auto [sum, own] = sumClassByClass(c);
    logSum = b.log(sum);
    picked = own;
  } else {
    Value shifted = shiftedBelowZero(b, c.x, c.axis);
    logSum = b.log(c.reduce(ReduceKind::Sum, b.exp(shifted)));
    picked = c.reduce(ReduceKind::Sum, b.keepWhere(c.oneHot(), shifted));
  }
  return {b.castLike(c.whereLabelled(b.subtract(logSum, picked)), getLogits())};
}

SmallVector<Value> SoftmaxCrossEntropyBackwardOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Classes c = Classes::get(b, getLogits(), getLabel(), getAxis());
  Value error = b.subtract(softmax(b, c.x, c.axis), b.castLike(c.oneHot(), c.x));
  Value dloss = c.whereLabelled(b.castLike(getDloss(), c.x));
  return {b.castLike(b.multiply(c.spread(dloss), error), getLogits())};
}

SmallVector<Value> AccuracyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Classes c{b, getLogits(), getLabel(), int64_t(getAxis())};
  if (c.areFew()) {
    Value best = c.of(0), correct = b.castLike(c.isLabel(0), best);
    for (int64_t number = 1; number < c.count(); ++number) {
      Value x = c.of(number), isBetter = b.compare(Predicate::GT, x, best);
      correct = b.select(isBetter, b.castLike(c.isLabel(number), x), correct);
      best = b.maximum(x, best);
    }
    // Nothing is the largest beside what is no number.
    return {b.keepWhere(b.compare(Predicate::EQ, best, best), correct)};
  }
  Value largest = c.spread(c.reduce(ReduceKind::Max, getLogits()));
  Value numbers = c.numbers();
  // The first of the largest: the smallest number among them. No class has the filler's number.
  Value filler = b.splatLike(numbers, std::numeric_limits<int32_t>::max());
  Value candidates = b.select(b.compare(Predicate::EQ, getLogits(), largest), numbers, filler);
  Value predicted = c.reduce(ReduceKind::Min, candidates);
  Value correct = b.compare(Predicate::EQ, predicted, getLabel());
  return {c.whereLabelled(b.castLike(correct, getLogits()))};
}

//===------------------------------------------------------------------------------------------===//
// Norms
//===------------------------------------------------------------------------------------------===//

namespace {
/// What norms share: x is normalised along `axes`.
struct Norm {
  TensorBuilder &b;
  Value x;
  SmallVector<int64_t> axes;
  double epsilon;

  RankedTensorType type() const { return b.typeOf(x); }
  Value spread(Value each) const { return b.broadcastOver(each, type(), axes); }
  Value sum(Value value) const { return b.reduce(ReduceKind::Sum, value, axes); }
  double count() const {
    double product = 1;
    for (int64_t axis : axes)
      product *= double(type().getDimSize(axis));
    return product;
  }
  Value average(Value value) const { return b.scale(sum(value), 1 / count()); }
  /// Mean and variance.
  std::pair<Value, Value> moments() const {
    MomentsOp op = b.moments(x, axes);
    return {op.getMean(), b.scale(op.getM2(), 1 / count())};
  }
  /// The same over all ranks, of which `ranks` is one by their number: each has moments of its own,
  /// and these are merged by Chan, Golub and LeVeque's formula. Its second step needs the mean of
  /// all, as sums of squares do not tell variances of large means apart.
  std::pair<Value, Value> momentsOfAll(Value ranks) const {
    MomentsOp op = b.moments(x, axes);
    Value mean = b.multiply(b.sumOverRanks(op.getMean()), shareOf(ranks));
    Value apart = b.subtract(op.getMean(), mean);
    Value m2 = b.sumOverRanks(b.add(op.getM2(), b.scale(b.multiply(apart, apart), count())));
    return {mean, b.scale(b.multiply(m2, shareOf(ranks)), 1 / count())};
  }
  /// `ranks` for each channel.
  Value shareOf(Value ranks) const {
    auto each = RankedTensorType::get({type().getDimSize(1)}, type().getElementType());
    return b.broadcast(b.castLike(ranks, x), each, {});
  }
  Value centred(Value mean) const { return b.subtract(x, spread(mean)); }
  /// 1 / sqrt(variance + epsilon)
  Value factor(Value variance) const {
    Value shifted = b.shift(variance, epsilon);
    return b.divide(b.splatLike(variance, 1), b.sqrt(shifted));
  }
};
} // namespace

/// All axes but that of the channels.
static SmallVector<int64_t> axesBesideChannels(Value x) {
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(x.getType()).getRank()));
  axes.erase(axes.begin() + 1);
  return axes;
}

template <typename Op> static Norm channelNorm(TensorBuilder &b, Op op) {
  return {b, op.getX(), axesBesideChannels(op.getX()), op.getEpsilon().convertToDouble()};
}

/// `centred` times a factor a channel, with the scale in it, and the bias.
template <typename Op>
static Value applyChannels(const Norm &norm, Op op, Value centred, Value factor) {
  if (op.getScale())
    factor = norm.b.multiply(factor, op.getScale());
  Value y = norm.b.multiply(centred, norm.spread(factor));
  return op.getBias() ? norm.b.add(y, norm.spread(op.getBias())) : y;
}

SmallVector<Value> BatchNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Norm norm = channelNorm(b, *this);
  auto [mean, variance] = getRanks() ? norm.momentsOfAll(getRanks()) : norm.moments();
  return {applyChannels(norm, *this, norm.centred(mean), norm.factor(variance)), mean, variance};
}

SmallVector<Value> BatchNormInferenceOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Norm norm = channelNorm(b, *this);
  return {applyChannels(norm, *this, norm.centred(getMean()), norm.factor(getVariance()))};
}

/// With f the factor and c = x - mean: dscale = f sum(dy c), and dx = s f dy - a - c b for numbers
/// a and b a channel, so that dx is one pass.
SmallVector<Value> BatchNormBackwardOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Norm norm = channelNorm(b, *this);
  Value centred = norm.centred(getMean()), factor = norm.factor(getVariance());
  Value dbias = norm.sum(getDy());
  Value dscale = b.multiply(norm.sum(b.multiply(getDy(), centred)), factor);
  Value slope = getScale() ? b.multiply(factor, getScale()) : factor;
  Value part = b.scale(slope, 1 / norm.count());
  Value sumOfDy = dbias, sumOfDyH = dscale;
  if (getRanks()) {
    auto all = AllReduceOp::create(builder, getLoc(), {dbias, dscale}, /*channel=*/1);
    sumOfDy = all.getYs()[0];
    sumOfDyH = all.getYs()[1];
    part = b.multiply(part, norm.shareOf(getRanks()));
  }
  Value byMean = b.multiply(part, sumOfDy);
  Value byVariance = b.multiply(b.multiply(part, factor), sumOfDyH);
  Value rest = b.add(b.multiply(centred, norm.spread(byVariance)), norm.spread(byMean));
  return {b.subtract(b.multiply(getDy(), norm.spread(slope)), rest), dscale, dbias};
}

/// (x - mean) / sqrt(variance + epsilon)
static Value standardise(const Norm &norm) {
  auto [mean, variance] = norm.moments();
  return norm.b.multiply(norm.centred(mean), norm.spread(norm.factor(variance)));
}

/// y * scale + bias, those that are there, which lie along `axes` of y.
static Value applyAffine(TensorBuilder &b, Value y, Value scale, Value bias,
                         ArrayRef<int64_t> axes) {
  if (scale)
    y = b.multiply(y, b.broadcast(scale, b.typeOf(y), axes));
  return bias ? b.add(y, b.broadcast(bias, b.typeOf(y), axes)) : y;
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Norm norm{b, getX(), SmallVector<int64_t>(getAxes()), getEpsilon().convertToDouble()};
  return {applyAffine(b, standardise(norm), getScale(), getBias(), getAxes())};
}

SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Norm norm{b, getX(), SmallVector<int64_t>(getAxes()), getEpsilon().convertToDouble()};
  Value factor = norm.factor(norm.average(b.multiply(getX(), getX())));
  return {applyAffine(b, b.multiply(getX(), norm.spread(factor)), getScale(), {}, getAxes())};
}

SmallVector<Value> GroupNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  RankedTensorType type = b.typeOf(getX());
  const int64_t samples = type.getDimSize(0), channels = type.getDimSize(1), groups = getGroups();
  const int64_t each = channels / groups, pixels = type.getNumElements() / (samples * channels);
  Value grouped = b.reshape(getX(), type.clone({samples, groups, each, pixels}));
  Norm norm{b, grouped, {2, 3}, getEpsilon().convertToDouble()};
  // In the shape of the groups, so that nothing stands between the norm and its use.
  auto ofGroups = [&](Value affine) {
    return affine ? b.reshape(affine, b.typeOf(affine).clone({groups, each})) : Value();
  };
  Value y = applyAffine(b, standardise(norm), ofGroups(getScale()), ofGroups(getBias()), {1, 2});
  return {b.reshape(y, type)};
}

Value LocalResponseNormOp::buildBase(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Value sum = SlidingSumOp::create(builder, getLoc(), b.multiply(getX(), getX()), /*axis=*/1,
                                   getBefore(), getAfter());
  return b.shift(b.scale(sum, getAlpha().convertToDouble() / double(getSize())),
                 getK().convertToDouble());
}

SmallVector<Value> LocalResponseNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  return {b.divide(getX(), b.power(buildBase(builder), getBeta().convertToDouble()))};
}

//===------------------------------------------------------------------------------------------===//
// Activations
//===------------------------------------------------------------------------------------------===//

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  return {softmax(b, getX(), getAxis())};
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  int64_t axis = getAxis();
  Value shifted = shiftedBelowZero(b, getX(), axis);
  Value sum = b.reduce(ReduceKind::Sum, b.exp(shifted), {axis});
  return {b.subtract(shifted, b.broadcastOver(b.log(sum), b.typeOf(shifted), {axis}))};
}

SmallVector<Value> StopGradientOp::decompose(OpBuilder &) { return {getX()}; }

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  if (getExact())
    return {b.multiply(b.scale(getX(), 0.5), b.shift(b.erf(b.scale(getX(), M_SQRT1_2)), 1))};
  Value x = getX(), cube = b.multiply(x, b.multiply(x, x));
  Value inner = b.scale(b.add(x, b.scale(cube, 0.044715)), std::sqrt(2 / std::numbers::pi));
  return {b.multiply(b.scale(x, 0.5), b.shift(b.tanh(inner), 1))};
}

//===------------------------------------------------------------------------------------------===//
// Losses, element by element
//===------------------------------------------------------------------------------------------===//

SmallVector<Value> SigmoidCrossEntropyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  return {b.subtract(b.softplus(getA()), b.multiply(getA(), getTarget()))};
}

SmallVector<Value> HuberOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Value size = b.abs(b.subtract(getA(), getTarget()));
  Value near = b.atMost(size, getDelta().convertToDouble());
  return {b.multiply(near, b.subtract(size, b.scale(near, 0.5)))};
}

SmallVector<Value> HingeOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Value product = b.multiply(getA(), getTarget());
  return {b.atLeast(b.shift(b.negate(product), getMargin().convertToDouble()), 0)};
}

/// The branch that is dropped holds log 1, so that no gradient of it is NaN.
SmallVector<Value> KlDivergenceOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Value target = getTarget(), isPositive = b.above(target, 0);
  Value logTarget = b.log(b.select(isPositive, target, b.splatLike(target, 1)));
  return {b.keepWhere(isPositive, b.multiply(target, b.subtract(logTarget, getA())))};
}

SmallVector<Value> BinaryAccuracyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Value answer = b.castLike(b.above(getA(), getThreshold().convertToDouble()), getA());
  Value truth = b.castLike(b.above(getTarget(), 0.5), getA());
  return {b.castLike(b.compare(Predicate::EQ, answer, truth), getA())};
}

//===------------------------------------------------------------------------------------------===//
// Losses and metrics over classes
//===------------------------------------------------------------------------------------------===//

/// With z = x - max x and l = log sum exp z: log softmax = z - l, and its sum over the classes is
/// sum z - classes l. So all sums stand over the logits, and are one walk.
SmallVector<Value> SmoothedCrossEntropyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  Classes c = Classes::get(b, getLogits(), getLabel(), getAxis());
  const double smoothing = getSmoothing().convertToDouble();
  Value shifted = shiftedBelowZero(b, c.x, c.axis);
  Value logSum = b.log(c.reduce(ReduceKind::Sum, b.exp(shifted)));
  Value picked = c.reduce(ReduceKind::Sum, b.keepWhere(c.oneHot(), shifted));
  Value average = b.scale(c.reduce(ReduceKind::Sum, shifted), 1 / double(c.count()));
  Value ofLabel = b.scale(c.whereLabelled(b.subtract(logSum, picked)), 1 - smoothing);
  Value loss = b.add(ofLabel, b.scale(b.subtract(logSum, average), smoothing));
  return {b.castLike(loss, getLogits())};
}

SmallVector<Value> ProbabilityCrossEntropyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  int64_t axis = getAxis();
  Value logarithms = LogSoftmaxOp::create(builder, getLoc(), getLogits(), axis);
  Value products = b.multiply(getTarget(), logarithms);
  return {b.negate(b.reduce(ReduceKind::Sum, products, {axis}))};
}

SmallVector<Value> TopAccuracyOp::decompose(OpBuilder &builder) {
  TensorBuilder b{builder, getLoc()};
  int64_t axis = getAxis();
  RankedTensorType type = b.typeOf(getLogits());
  Value numbers = b.iota(type.getShape(), b.typeOf(getLabel()).getElementType(), axis);
  Value isLabel = b.compare(Predicate::EQ, numbers, b.broadcastOver(getLabel(), type, {axis}));
  Value own = b.reduce(ReduceKind::Sum, b.keepWhere(isLabel, getLogits()), {axis});
  Value isBetter = b.compare(Predicate::GT, getLogits(), b.broadcastOver(own, type, {axis}));
  Value rank = b.reduce(ReduceKind::Sum, b.castLike(isBetter, getLogits()), {axis});
  Value isAmong = b.compare(Predicate::LT, rank, b.splatLike(rank, double(getK())));
  return {b.castLike(isAmong, getLogits())};
}
