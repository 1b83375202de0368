//===- Classification.cpp - losses and metrics over classes, each by its own formula ----------===//
#include "dialects/DL/Ops/DLLossOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace dlc::interpreter {
namespace {

/// The logits of one sample, which stand along one axis.
struct Sample {
  const Tensor &logits;
  Index index; ///< index[axis] is free
  size_t axis;

  int64_t classes() const { return logits.shape[axis]; }
  Index at(int64_t c) const {
    Index result = index;
    result[axis] = c;
    return result;
  }
  double operator[](int64_t c) const { return logits.at(at(c)); }
  bool isClass(double label) const { return label >= 0 && label < double(classes()); }

  double largest() const {
    double result = -INFINITY;
    for (int64_t c = 0; c < classes(); ++c)
      result = std::max(result, (*this)[c]);
    return result;
  }
  /// log(sum of exp), NaN if a logit is.
  double logSumExp() const {
    double sum = 0, shift = largest();
    for (int64_t c = 0; c < classes(); ++c)
      sum += std::exp((*this)[c] - shift);
    return std::log(sum) + shift;
  }
  int64_t firstLargest() const {
    for (int64_t c = 0; c < classes(); ++c)
      if ((*this)[c] == largest())
        return c;
    return -1;
  }
};

/// Calls visit(sample, index without the axis) for every sample.
template <typename Visit> void forEachSample(const Tensor &logits, int64_t axis, Visit visit) {
  Shape shape = logits.shape;
  shape.erase(shape.begin() + axis);
  forEachIndex(shape, [&](const Index &index) {
    Index full = index;
    full.insert(full.begin() + axis, 0);
    visit(Sample{logits, full, size_t(axis)}, index);
  });
}

Tensor loss(const Tensor &logits, const Tensor &label, int64_t axis) {
  Tensor result = Tensor::filled(label.shape, 0);
  forEachSample(logits, axis, [&](const Sample &sample, const Index &index) {
    double target = label.at(index);
    if (sample.isClass(target))
      result.at(index) = sample.logSumExp() - sample[int64_t(target)];
  });
  return result;
}

Tensor lossGradient(const Tensor &dloss, const Tensor &logits, const Tensor &label, int64_t axis) {
  Tensor result = Tensor::filled(logits.shape, 0);
  forEachSample(logits, axis, [&](const Sample &sample, const Index &index) {
    double target = label.at(index), logSum = sample.logSumExp();
    if (!sample.isClass(target))
      return;
    for (int64_t c = 0; c < sample.classes(); ++c) {
      double probability = std::exp(sample[c] - logSum);
      result.at(sample.at(c)) = dloss.at(index) * (probability - (double(c) == target));
    }
  });
  return result;
}

Tensor accuracy(const Tensor &logits, const Tensor &label, int64_t axis) {
  Tensor result = Tensor::filled(label.shape, 0);
  forEachSample(logits, axis, [&](const Sample &sample, const Index &index) {
    double target = label.at(index);
    result.at(index) = sample.isClass(target) && double(sample.firstLargest()) == target;
  });
  return result;
}

/// -sum of p[c] * log softmax(x)[c], for p = `probability` of (sample's place of class c, c).
template <typename Probability>
Tensor crossEntropy(const Tensor &logits, int64_t axis, Probability probability) {
  Shape shape = logits.shape;
  shape.erase(shape.begin() + axis);
  Tensor result = Tensor::filled(shape, 0);
  forEachSample(logits, axis, [&](const Sample &sample, const Index &index) {
    for (int64_t c = 0; c < sample.classes(); ++c)
      result.at(index) += probability(sample.at(c), index, c) * (sample.logSumExp() - sample[c]);
  });
  return result;
}

Tensor topAccuracy(const Tensor &logits, const Tensor &label, int64_t axis, int64_t k) {
  Tensor result = Tensor::filled(label.shape, 0);
  forEachSample(logits, axis, [&](const Sample &sample, const Index &index) {
    double target = label.at(index), own = sample.isClass(target) ? sample[int64_t(target)] : 0;
    int64_t better = 0;
    for (int64_t c = 0; c < sample.classes(); ++c)
      better += sample[c] > own;
    result.at(index) = better < k;
  });
  return result;
}

} // namespace

Values runClassification(Operation *op, ArrayRef<Tensor> v) {
  using Result = std::vector<Tensor>;
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<dl::SoftmaxCrossEntropyOp>(
          [&](auto op) { return Result{loss(v[0], v[1], op.getAxis())}; })
      .Case<dl::SoftmaxCrossEntropyBackwardOp>(
          [&](auto op) { return Result{lossGradient(v[0], v[1], v[2], op.getAxis())}; })
      .Case<dl::SmoothedCrossEntropyOp>([&](auto op) {
        double smoothing = op.getSmoothing().convertToDouble();
        double share = smoothing / double(v[0].shape[op.getAxis()]);
        return Result{crossEntropy(v[0], op.getAxis(), [&](auto, const Index &index, int64_t c) {
          return (v[1].at(index) == double(c) ? 1 - smoothing : 0) + share;
        })};
      })
      .Case<dl::ProbabilityCrossEntropyOp>([&](auto op) {
        return Result{crossEntropy(v[0], op.getAxis(), [&](const Index &place, auto &&, int64_t) {
          return v[1].at(place);
        })};
      })
      .Case<dl::TopAccuracyOp>(
          [&](auto op) { return Result{topAccuracy(v[0], v[1], op.getAxis(), op.getK())}; })
      .Case<dl::AccuracyOp>([&](auto op) { return Result{accuracy(v[0], v[1], op.getAxis())}; })
      .Default(Values());
}

} // namespace dlc::interpreter
