//===- Samples.cpp - images read at places that a tensor gives --------------------------------===//
#include "dialects/DL/Ops/DLSampleOps.h"
#include "test/lib/Interpreter/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace dlc::interpreter {
namespace {

/// A place along an axis of `size` pixels, and how it moves with the grid's number.
struct Place {
  double at, slope;
};

/// Mirrored at `low` and `high` as often as it takes: one fold after the other.
Place mirror(Place place, double low, double high) {
  if (low == high)
    return {0, 0};
  while (place.at < low || place.at > high)
    place = {place.at < low ? 2 * low - place.at : 2 * high - place.at, -place.slope};
  return place;
}

template <typename Op> Place placeOf(Op op, double number, double size) {
  Place place = op.getAlignCorners() ? Place{(number + 1) / 2 * (size - 1), (size - 1) / 2}
                                     : Place{((number + 1) * size - 1) / 2, size / 2};
  // No pixel.
  if (std::isnan(place.at) || (std::isinf(place.at) && op.getReflect()))
    return {-100, 0};
  if (op.getReflect())
    place = op.getAlignCorners() ? mirror(place, 0, size - 1) : mirror(place, -0.5, size - 0.5);
  if (op.getBorder() || op.getReflect()) {
    if (place.at <= 0)
      place = {0, 0};
    else if (place.at >= size - 1)
      place = {size - 1, 0};
  }
  return place;
}

/// Calls visit(h, w, share, share's slope along H, and along W) for the pixels of x that y[n, ., p,
/// q] is made of.
template <typename Op, typename Visit>
void forEachPixel(Op op, const Tensor &grid, const Shape &x, const Index &y, Visit visit) {
  const Place h = placeOf(op, grid.at({y[0], y[2], y[3], 1}), double(x[2]));
  const Place w = placeOf(op, grid.at({y[0], y[2], y[3], 0}), double(x[3]));
  forEachIndex({x[2], x[3]}, [&](const Index &pixel) {
    const double fromH = h.at - double(pixel[0]), fromW = w.at - double(pixel[1]);
    if (op.getNearest()) {
      if (std::nearbyint(h.at) == double(pixel[0]) && std::nearbyint(w.at) == double(pixel[1]))
        visit(pixel[0], pixel[1], 1.0, 0.0, 0.0);
      return;
    }
    // The pixel at the place itself is the one before it: the slope is that of what is behind.
    const bool isBesideH = fromH > -1 && fromH<1, isBesideW = fromW> - 1 && fromW < 1;
    const bool isBehindH = fromH < 0 && fromH >= -1, isBehindW = fromW < 0 && fromW >= -1;
    if ((!isBesideH && !isBehindH) || (!isBesideW && !isBehindW))
      return;
    const double shareH = 1 - std::abs(fromH), shareW = 1 - std::abs(fromW);
    visit(pixel[0], pixel[1], shareH * shareW, (isBehindH ? 1 : -1) * h.slope * shareW,
          (isBehindW ? 1 : -1) * w.slope * shareH);
  });
}

std::vector<Tensor> sample(dl::GridSampleOp op, const Tensor &x, const Tensor &grid) {
  Tensor y = Tensor::filled(shapeOf(op.getY().getType()), 0);
  forEachIndex(y.shape, [&](const Index &to) {
    forEachPixel(op, grid, x.shape, to, [&](int64_t h, int64_t w, double share, double, double) {
      y.at(to) += share * x.at({to[0], to[1], h, w});
    });
  });
  return {std::move(y)};
}

std::vector<Tensor> backwardImage(dl::GridSampleBackwardImageOp op, const Tensor &dy,
                                  const Tensor &grid) {
  Tensor dx = Tensor::filled(shapeOf(op.getDx().getType()), 0);
  forEachIndex(dy.shape, [&](const Index &from) {
    forEachPixel(op, grid, dx.shape, from, [&](int64_t h, int64_t w, double share, double, double) {
      dx.at({from[0], from[1], h, w}) += share * dy.at(from);
    });
  });
  return {std::move(dx)};
}

std::vector<Tensor> backwardGrid(dl::GridSampleBackwardGridOp op, const Tensor &dy, const Tensor &x,
                                 const Tensor &grid) {
  Tensor dgrid = Tensor::filled(grid.shape, 0);
  forEachIndex(dy.shape, [&](const Index &from) {
    forEachPixel(op, grid, x.shape, from,
                 [&](int64_t h, int64_t w, double, double alongH, double alongW) {
                   const double part = dy.at(from) * x.at({from[0], from[1], h, w});
                   dgrid.at({from[0], from[2], from[3], 0}) += part * alongW;
                   dgrid.at({from[0], from[2], from[3], 1}) += part * alongH;
                 });
  });
  return {std::move(dgrid)};
}

} // namespace

Values runSample(Operation *op, ArrayRef<Tensor> v) {
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case<dl::GridSampleOp>([&](auto op) { return sample(op, v[0], v[1]); })
      .Case<dl::GridSampleBackwardImageOp>([&](auto op) { return backwardImage(op, v[0], v[1]); })
      .Case<dl::GridSampleBackwardGridOp>(
          [&](auto op) { return backwardGrid(op, v[0], v[1], v[2]); })
      .Default(Values());
}

} // namespace dlc::interpreter
