//===- Composites.cpp - norms, activations and losses, each by its own formula ----------------===//
//
// A norm is a function of the elements that are normalised together: each element asks for the
// mean and variance of its own set anew.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace dlc::interpreter {
namespace {

using Group = std::function<bool(const Index &, const Index &)>;
using Result = std::vector<Tensor>;

/// Averages over the elements of `shape` that are in one group with `index`.
template <typename Value>
double average(const Shape &shape, const Index &index, const Group &together, Value value) {
  double sum = 0, count = 0;
  forEachIndex(shape, [&](const Index &other) {
    if (!together(index, other))
      return;
    sum += value(other);
    ++count;
  });
  return sum / count;
}

double meanOf(const Tensor &x, const Index &index, const Group &together) {
  return average(x.shape, index, together, [&](const Index &other) { return x.at(other); });
}
double varianceOf(const Tensor &x, const Index &index, const Group &together) {
  double mean = meanOf(x, index, together);
  return average(x.shape, index, together,
                 [&](const Index &other) { return std::pow(x.at(other) - mean, 2); });
}

/// The element at the place of `index` along `axes` only.
double along(const Tensor &vector, ArrayRef<int64_t> axes, const Index &index) {
  Index place;
  for (int64_t axis : axes)
    place.push_back(index[axis]);
  return vector.at(place);
}

Group sameChannel() {
  return [](const Index &a, const Index &b) { return a[1] == b[1]; };
}
Group sameBeside(ArrayRef<int64_t> axes) {
  return [axes](const Index &a, const Index &b) {
    for (size_t axis = 0; axis < a.size(); ++axis)
      if (!llvm::is_contained(axes, int64_t(axis)) && a[axis] != b[axis])
        return false;
    return true;
  };
}

/// Scale and bias behind the operands that an op always has; null where they are not.
struct Affine {
  const Tensor *scale = nullptr, *bias = nullptr;

  template <typename Op> static Affine of(Op op, ArrayRef<Tensor> v) {
    Affine result;
    auto next = v.end();
    if (op.getBias())
      result.bias = --next;
    if (op.getScale())
      result.scale = --next;
    return result;
  }
  double apply(double x, ArrayRef<int64_t> axes, const Index &index) const {
    return x * (scale ? along(*scale, axes, index) : 1) + (bias ? along(*bias, axes, index) : 0);
  }
};

template <typename Element> Tensor tabulate(const Shape &shape, Element element) {
  Tensor result = Tensor::filled(shape, 0);
  forEachIndex(shape, [&](const Index &index) { result.at(index) = element(index); });
  return result;
}

Tensor standardised(const Tensor &x, const Group &together, double epsilon, const Affine &affine,
                    ArrayRef<int64_t> axes) {
  return tabulate(x.shape, [&](const Index &index) {
    double centred = x.at(index) - meanOf(x, index, together);
    double deviation = std::sqrt(varianceOf(x, index, together) + epsilon);
    return affine.apply(centred / deviation, axes, index);
  });
}

/// Of each channel, by an index in it.
template <typename Number> Tensor ofChannels(const Tensor &x, Number number) {
  return tabulate({x.shape[1]}, [&](const Index &channel) {
    Index index(x.shape.size(), 0);
    index[1] = channel[0];
    return number(index);
  });
}

/// With one rank, which `ranks` says nothing of.
Values batchNorm(dl::BatchNormOp op, ArrayRef<Tensor> v) {
  const Tensor &x = v[0];
  v = v.drop_back(op.getRanks() ? 1 : 0);
  Tensor y =
      standardised(x, sameChannel(), op.getEpsilon().convertToDouble(), Affine::of(op, v), {1});
  return Result{y, ofChannels(x, [&](auto &index) { return meanOf(x, index, sameChannel()); }),
                ofChannels(x, [&](auto &index) { return varianceOf(x, index, sameChannel()); })};
}

Values batchNormInference(dl::BatchNormInferenceOp op, ArrayRef<Tensor> v) {
  Affine affine = Affine::of(op, v);
  double epsilon = op.getEpsilon().convertToDouble();
  return Result{tabulate(v[0].shape, [&](const Index &index) {
    double centred = v[0].at(index) - v[1].at({index[1]});
    return affine.apply(centred / std::sqrt(v[2].at({index[1]}) + epsilon), {1}, index);
  })};
}

/// From the gradients of the three formulas of dl.batch_norm, one after the other: of y, of the
/// variance, of the mean.
Values batchNormBackward(dl::BatchNormBackwardOp op, ArrayRef<Tensor> v) {
  const Tensor &dy = v[0], &x = v[1], &mean = v[2], &variance = v[3];
  double epsilon = op.getEpsilon().convertToDouble(), count = double(x.size() / x.shape[1]);
  Group together = sameChannel();
  auto sum = [&](const Index &index, auto value) {
    return count * average(x.shape, index, together, value);
  };
  auto centred = [&](const Index &at) { return x.at(at) - mean.at({at[1]}); };
  auto deviation = [&](const Index &at) { return std::sqrt(variance.at({at[1]}) + epsilon); };
  auto dh = [&](const Index &at) { return dy.at(at) * (op.getScale() ? v[4].at({at[1]}) : 1); };
  Tensor dscale = ofChannels(x, [&](const Index &index) {
    return sum(index, [&](auto &at) { return dy.at(at) * centred(at) / deviation(at); });
  });
  Tensor dbias = ofChannels(
      x, [&](const Index &index) { return sum(index, [&](auto &at) { return dy.at(at); }); });
  Tensor dvariance = ofChannels(x, [&](const Index &index) {
    return -0.5 * std::pow(deviation(index), -3) *
           sum(index, [&](auto &at) { return dh(at) * centred(at); });
  });
  Tensor dx = tabulate(x.shape, [&](const Index &index) {
    auto direct = [&](const Index &at) {
      return dh(at) / deviation(at) + dvariance.at({at[1]}) * 2 * centred(at) / count;
    };
    return direct(index) - sum(index, direct) / count;
  });
  return Result{dx, dscale, dbias};
}

Values groupNorm(dl::GroupNormOp op, ArrayRef<Tensor> v) {
  int64_t each = v[0].shape[1] / op.getGroups();
  Group together = [each](const Index &a, const Index &b) {
    return a[0] == b[0] && a[1] / each == b[1] / each;
  };
  return Result{
      standardised(v[0], together, op.getEpsilon().convertToDouble(), Affine::of(op, v), {1})};
}

Values layerNorm(dl::LayerNormOp op, ArrayRef<Tensor> v) {
  return Result{standardised(v[0], sameBeside(op.getAxes()), op.getEpsilon().convertToDouble(),
                             Affine::of(op, v), op.getAxes())};
}

Values rmsNorm(dl::RmsNormOp op, ArrayRef<Tensor> v) {
  const Tensor &x = v[0];
  Group together = sameBeside(op.getAxes());
  return Result{tabulate(x.shape, [&](const Index &index) {
    double square = average(x.shape, index, together,
                            [&](const Index &other) { return x.at(other) * x.at(other); });
    double y = x.at(index) / std::sqrt(square + op.getEpsilon().convertToDouble());
    return op.getScale() ? y * along(v[1], op.getAxes(), index) : y;
  })};
}

Values localResponseNorm(dl::LocalResponseNormOp op, const Tensor &x) {
  int64_t size = op.getSize();
  double alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble();
  return Result{tabulate(x.shape, [&](const Index &index) {
    double squares = 0;
    Index other = index;
    for (int64_t c = 0; c < x.shape[1]; ++c)
      if (c >= index[1] - size / 2 && c <= index[1] + (size - 1) / 2) {
        other[1] = c;
        squares += x.at(other) * x.at(other);
      }
    double base = op.getK().convertToDouble() + alpha * squares / double(size);
    return x.at(index) / std::pow(base, beta);
  })};
}

/// The logarithm of softmax at each element.
Tensor logSoftmax(const Tensor &x, int64_t axis) {
  return tabulate(x.shape, [&](const Index &index) {
    Index other = index;
    double largest = -INFINITY, sum = 0;
    for (other[axis] = 0; other[axis] < x.shape[axis]; ++other[axis])
      largest = std::max(largest, x.at(other));
    for (other[axis] = 0; other[axis] < x.shape[axis]; ++other[axis])
      sum += std::exp(x.at(other) - largest);
    return x.at(index) - largest - std::log(sum);
  });
}

/// One element from those of the operands at its place.
template <typename Formula> Values byElement(ArrayRef<Tensor> v, Formula formula) {
  Tensor result = v[0];
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = formula(v[0].values[i], v.back().values[i]);
  return Result{result};
}

double gelu(double x, double) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/// Of the normal distribution's upper tail, so that nothing is lost far below 0.
double exactGelu(double x, double) { return x * std::erfc(-x * M_SQRT1_2) / 2; }

/// -t log p - (1 - t) log (1 - p) for p = sigmoid(a).
double sigmoidCrossEntropy(double a, double target) {
  auto logSigmoid = [](double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::fabs(x))); };
  return -target * logSigmoid(a) - (1 - target) * logSigmoid(-a);
}

} // namespace

Values runComposite(Operation *op, ArrayRef<Tensor> v) {
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<dl::BatchNormOp>([&](auto op) { return batchNorm(op, v); })
      .Case<dl::BatchNormInferenceOp>([&](auto op) { return batchNormInference(op, v); })
      .Case<dl::BatchNormBackwardOp>([&](auto op) { return batchNormBackward(op, v); })
      .Case<dl::GroupNormOp>([&](auto op) { return groupNorm(op, v); })
      .Case<dl::LayerNormOp>([&](auto op) { return layerNorm(op, v); })
      .Case<dl::RmsNormOp>([&](auto op) { return rmsNorm(op, v); })
      .Case<dl::LocalResponseNormOp>([&](auto op) { return localResponseNorm(op, v[0]); })
      .Case<dl::LogSoftmaxOp>([&](auto op) { return Result{logSoftmax(v[0], op.getAxis())}; })
      .Case<dl::SoftmaxOp>([&](auto op) {
        Tensor logarithm = logSoftmax(v[0], op.getAxis());
        return byElement(logarithm, [](double y, double) { return std::exp(y); });
      })
      .Case<dl::GeluOp>(
          [&](dl::GeluOp op) { return byElement(v, op.getExact() ? exactGelu : gelu); })
      .Case<dl::StopGradientOp>([&](auto) { return Result{v[0]}; })
      .Case<dl::SigmoidCrossEntropyOp>([&](auto) { return byElement(v, sigmoidCrossEntropy); })
      .Case<dl::HuberOp>([&](dl::HuberOp op) {
        double delta = op.getDelta().convertToDouble();
        return byElement(v, [=](double a, double target) {
          double d = std::fabs(a - target);
          return d <= delta ? d * d / 2 : delta * (d - delta / 2);
        });
      })
      .Case<dl::HingeOp>([&](dl::HingeOp op) {
        double margin = op.getMargin().convertToDouble();
        return byElement(v, [=](double a, double t) { return std::max(0.0, margin - t * a); });
      })
      .Case<dl::BinaryAccuracyOp>([&](dl::BinaryAccuracyOp op) {
        double threshold = op.getThreshold().convertToDouble();
        return byElement(v, [=](double a, double t) { return (a > threshold) == (t > 0.5); });
      })
      .Case<dl::KlDivergenceOp>([&](auto) {
        return byElement(v, [](double a, double t) { return t > 0 ? t * (std::log(t) - a) : 0; });
      })
      .Default(Values());
}

} // namespace dlc::interpreter
