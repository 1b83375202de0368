//===- Losses.cpp - see Losses.h --------------------------------------------------------------===//
#include "dialects/DL/Formulas/Losses.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLLossOps.h"

using namespace mlir;

namespace dlc::dl::formulas {

//===------------------------------------------------------------------------------------------===//
// Over classes
//===------------------------------------------------------------------------------------------===//

Value withoutClass(TensorBuilder &b, Value labels, int64_t ignored) {
  Value isIgnored = b.compare(Predicate::EQ, labels, b.splatLike(labels, double(ignored)));
  return b.select(isIgnored, b.splatLike(labels, -1), labels);
}

Value whereClass(TensorBuilder &b, Value perSample, Value labels, int64_t classes) {
  Value limit = b.splatLike(labels, double(classes));
  Value isLow = b.compare(Predicate::GE, labels, b.splatLike(labels, 0));
  Value isHigh = b.compare(Predicate::LT, labels, limit);
  return b.keepWhere(isLow, b.keepWhere(isHigh, perSample));
}

Value softmaxCrossEntropy(TensorBuilder &b, Value logits, Value labels, int64_t axis,
                          double smoothing) {
  if (smoothing == 0)
    return SoftmaxCrossEntropyOp::create(b.builder, b.loc, logits, labels, axis);
  return SmoothedCrossEntropyOp::create(b.builder, b.loc, logits, labels, axis,
                                        llvm::APFloat(smoothing));
}

Value weightedCrossEntropy(TensorBuilder &b, Value logits, Value labels, int64_t axis,
                           double smoothing, Value ofLabels, Value ofClasses) {
  Value own = softmaxCrossEntropy(b, logits, labels, axis, /*smoothing=*/0);
  own = b.multiply(own, ofLabels);
  if (smoothing == 0)
    return own;
  RankedTensorType type = b.typeOf(logits);
  Value logarithms = LogSoftmaxOp::create(b.builder, b.loc, logits, uint64_t(axis));
  Value spread = b.broadcast(ofClasses, type, {axis});
  Value all = b.reduce(ReduceKind::Sum, b.multiply(logarithms, spread), {axis});
  Value ofLabel = b.scale(own, 1 - smoothing);
  return b.subtract(ofLabel, b.scale(all, smoothing / double(type.getDimSize(axis))));
}

Value probabilityCrossEntropy(TensorBuilder &b, Value logits, Value target, int64_t axis,
                              double smoothing, Value ofClasses) {
  RankedTensorType type = b.typeOf(logits);
  if (smoothing != 0)
    target = b.shift(b.scale(target, 1 - smoothing), smoothing / double(type.getDimSize(axis)));
  if (ofClasses) {
    Value fixed = StopGradientOp::create(b.builder, b.loc, ofClasses);
    target = b.multiply(target, b.broadcast(fixed, type, {axis}));
  }
  return ProbabilityCrossEntropyOp::create(b.builder, b.loc, logits, target, axis);
}

//===------------------------------------------------------------------------------------------===//
// Over elements and pairs
//===------------------------------------------------------------------------------------------===//

Value sigmoidCrossEntropy(TensorBuilder &b, Value logits, Value target, Value positiveWeight) {
  if (!positiveWeight)
    return SigmoidCrossEntropyOp::create(b.builder, b.loc, logits, target);
  Value ofYes = b.shift(b.multiply(b.shift(positiveWeight, -1), target), 1);
  Value ofNo = b.subtract(b.splatLike(logits, 1), target);
  Value lossOfNo = b.multiply(ofNo, logits);
  return b.add(lossOfNo, b.multiply(ofYes, b.softplus(b.negate(logits))));
}

Value cosineEmbedding(TensorBuilder &b, Value left, Value right, Value sign, double margin) {
  const int64_t axis = b.typeOf(left).getRank() - 1;
  auto dot = [&](Value x, Value y) { return b.reduce(ReduceKind::Sum, b.multiply(x, y), {axis}); };
  // Embeddings of length 0 have the cosine 0, and a gradient.
  constexpr double epsilon = 1e-12;
  Value square = b.shift(dot(left, left), epsilon);
  Value squares = b.multiply(square, b.shift(dot(right, right), epsilon));
  Value product = dot(left, right);
  Value cosine = b.divide(product, b.sqrt(squares));
  Value apart = b.atLeast(b.shift(cosine, -margin), 0);
  Value together = b.subtract(b.splatLike(cosine, 1), cosine);
  return b.select(b.above(sign, 0), together, apart);
}

//===------------------------------------------------------------------------------------------===//
// What counts
//===------------------------------------------------------------------------------------------===//

Value toAccumulated(TensorBuilder &b, Value x) {
  return b.typeOf(x).getElementType().isF64() ? x : b.cast(x, b.builder.getF32Type());
}

Value meanByWeight(TensorBuilder &b, Value sum, Value total) {
  // Where nothing counts the sum is 0, too.
  return b.divide(sum, b.castLike(b.aboveZeroOrOne(total), sum));
}

} // namespace dlc::dl::formulas
