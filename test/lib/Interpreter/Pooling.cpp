//===- Pooling.cpp - windows over the spatial axes, sums of neighbours ------------------------===//
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace dlc::interpreter {
namespace {

/// What the five ops share. The larger side is x [N, C, spatial...], the smaller one y.
struct Window {
  Shape x, y, kernel;
  ArrayRef<int64_t> strides, padding, dilations;

  template <typename Op>
  Window(Op op, Shape xShape, Shape yShape)
      : x(std::move(xShape)), y(std::move(yShape)),
        kernel(op.getKernel().begin(), op.getKernel().end()), strides(op.getStrides()),
        padding(op.getPadding()), dilations(op.getDilations()) {}

  /// Where element `tap` of the window of y's `index` lies in x; it may be outside.
  Index position(const Index &index, const Index &tap) const {
    Index result = {index[0], index[1]};
    for (size_t i = 0; i < kernel.size(); ++i)
      result.push_back(index[i + 2] * strides[i] - padding[2 * i] + tap[i] * dilations[i]);
    return result;
  }
  bool isInside(const Index &position) const {
    for (size_t axis = 2; axis < x.size(); ++axis)
      if (position[axis] < 0 || position[axis] >= x[axis])
        return false;
    return true;
  }
  /// Inside of x or of its padding: outside is what ceil-mode windows hang over.
  bool isInsidePadded(const Index &position) const {
    for (size_t axis = 2; axis < x.size(); ++axis)
      if (position[axis] >= x[axis] + padding[2 * (axis - 2) + 1])
        return false;
    return true;
  }
  /// The tap with row-major number `number`.
  Index tapOf(int64_t number) const {
    Index tap(kernel.size());
    for (size_t i = kernel.size(); i > 0; --i) {
      tap[i - 1] = number % kernel[i - 1];
      number /= kernel[i - 1];
    }
    return tap;
  }
};

std::vector<Tensor> maxPool(dl::MaxPoolOp op, const Tensor &x) {
  Window window(op, x.shape, shapeOf(op.getY().getType()));
  Tensor y = Tensor::filled(window.y, -INFINITY), winner = Tensor::filled(window.y, 0);
  forEachIndex(window.y, [&](const Index &index) {
    bool found = false;
    int64_t number = 0;
    forEachIndex(window.kernel, [&](const Index &tap) {
      Index position = window.position(index, tap);
      if (window.isInside(position)) {
        double value = x.at(position), &best = y.at(index);
        if (!found || value > best || (std::isnan(value) && !std::isnan(best))) {
          best = value;
          winner.at(index) = static_cast<double>(number);
        }
        found = true;
      }
      ++number;
    });
  });
  if (op.getIndex())
    return {std::move(y), std::move(winner)};
  return {std::move(y)};
}

std::vector<Tensor> maxPoolBackward(dl::MaxPoolBackwardOp op, const Tensor &dy,
                                    const Tensor &winner) {
  Window window(op, shapeOf(op.getDx().getType()), dy.shape);
  Tensor dx = Tensor::filled(window.x, 0);
  forEachIndex(window.y, [&](const Index &index) {
    Index position = window.position(index, window.tapOf(int64_t(winner.at(index))));
    if (window.isInside(position))
      dx.at(position) += dy.at(index);
  });
  return {std::move(dx)};
}

std::vector<Tensor> maxPoolGather(dl::MaxPoolGatherOp op, const Tensor &x, const Tensor &winner) {
  Window window(op, x.shape, winner.shape);
  Tensor y = Tensor::filled(window.y, 0);
  forEachIndex(window.y, [&](const Index &index) {
    Index position = window.position(index, window.tapOf(int64_t(winner.at(index))));
    if (window.isInside(position))
      y.at(index) = x.at(position);
  });
  return {std::move(y)};
}

/// Calls visit(position in x, y's index, 1 / elements that count) for every element of every
/// window.
template <typename Visit> void forEachMember(const Window &window, bool countPadding, Visit visit) {
  forEachIndex(window.y, [&](const Index &index) {
    int64_t count = 0;
    forEachIndex(window.kernel, [&](const Index &tap) {
      Index position = window.position(index, tap);
      count += countPadding ? window.isInsidePadded(position) : window.isInside(position);
    });
    forEachIndex(window.kernel, [&](const Index &tap) {
      Index position = window.position(index, tap);
      if (window.isInside(position))
        visit(position, index, 1.0 / static_cast<double>(count));
    });
  });
}

std::vector<Tensor> averagePool(dl::AveragePoolOp op, const Tensor &x) {
  Window window(op, x.shape, shapeOf(op.getY().getType()));
  Tensor y = Tensor::filled(window.y, 0);
  forEachMember(
      window, op.getCountIncludePad(),
      [&](const Index &from, const Index &to, double share) { y.at(to) += x.at(from) * share; });
  return {std::move(y)};
}

std::vector<Tensor> averagePoolBackward(dl::AveragePoolBackwardOp op, const Tensor &dy) {
  Window window(op, shapeOf(op.getDx().getType()), dy.shape);
  Tensor dx = Tensor::filled(window.x, 0);
  forEachMember(
      window, op.getCountIncludePad(),
      [&](const Index &to, const Index &from, double share) { dx.at(to) += dy.at(from) * share; });
  return {std::move(dx)};
}

std::vector<Tensor> slidingSum(dl::SlidingSumOp op, const Tensor &x) {
  const int64_t axis = op.getAxis(), extent = x.shape[axis];
  Tensor y = Tensor::filled(x.shape, 0);
  forEachIndex(x.shape, [&](const Index &index) {
    Index from = index;
    for (int64_t apart = -int64_t(op.getBefore()); apart <= int64_t(op.getAfter()); ++apart) {
      from[axis] = index[axis] + apart;
      if (from[axis] >= 0 && from[axis] < extent)
        y.at(index) += x.at(from);
    }
  });
  return {std::move(y)};
}

} // namespace

Values runPooling(Operation *op, ArrayRef<Tensor> v) {
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<dl::MaxPoolOp>([&](auto op) { return maxPool(op, v[0]); })
      .Case<dl::MaxPoolBackwardOp>([&](auto op) { return maxPoolBackward(op, v[0], v[1]); })
      .Case<dl::MaxPoolGatherOp>([&](auto op) { return maxPoolGather(op, v[0], v[1]); })
      .Case<dl::AveragePoolOp>([&](auto op) { return averagePool(op, v[0]); })
      .Case<dl::AveragePoolBackwardOp>([&](auto op) { return averagePoolBackward(op, v[0]); })
      .Case<dl::SlidingSumOp>([&](auto op) { return slidingSum(op, v[0]); })
      .Default(Values());
}

} // namespace dlc::interpreter
