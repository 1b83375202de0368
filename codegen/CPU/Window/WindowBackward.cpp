//===- WindowBackward.cpp - gradients of pooling ----------------------------------------------===//
//
// Windows that tile their input (stride = kernel, no padding; the usual pooling) are walked by
// input rows: each vector of inputs takes the gradients of the windows that it lies in, repeated
// for each tap, where the tap is the winner. Otherwise a task adds the windows of one image to a
// plane in its scratch, in the order of the windows, then finishes the plane in vectors; an image
// belongs to one task, so gradients add up in the same order for any number of threads.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Window/Window.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Windows that overlap
//===------------------------------------------------------------------------------------------===//

namespace {

/// Adds the windows of one image to the plane in scratch.
class ScatterEmitter {
public:
  ScatterEmitter(KernelFunction &kernel, const WindowPlan &plan, ArrayRef<Value> lead)
      : kernel(kernel), e(kernel.e), plan(plan), lead(lead), type(plan.element.computed) {}

  void run() {
    clear();
    SmallVector<int64_t> outputs;
    for (const dl::WindowAxis &axis : plan.axes)
      outputs.push_back(axis.output);
    e.nest(outputs, 1, {}, [&](ArrayRef<Value> output, ValueRange) {
      Point point;
      point.shape = plan.space(&dl::WindowAxis::output);
      point.indices.assign(lead.begin(), lead.end());
      point.indices.append(output.begin(), output.end());
      if (auto pool = dyn_cast<dl::MaxPoolBackwardOp>(kernel.spec.anchorOp()))
        scatter(pool, point, output);
      else
        spread(cast<dl::AveragePoolBackwardOp>(kernel.spec.anchorOp()), point, output);
      return SmallVector<Value>();
    });
  }

private:
  void clear() {
    int64_t lanes = plan.element.lanes(kernel.target), elements = plan.planeElements();
    int64_t whole = elements / lanes * lanes;
    auto zero = e.number(0, VectorType::get({lanes}, type));
    e.loop(e.constant(0), e.constant(whole), lanes,
           [&](Value place) { e.storeVector(zero, kernel.scratch, place); });
    if (whole < elements)
      e.storeVector(zero, kernel.scratch, e.constant(whole), 1,
                    e.firstLanes(elements - whole, lanes));
  }

  void add(ArrayRef<Value> place, Value value) {
    Value offset = e.constant(0);
    for (auto [axis, index] : llvm::zip_equal(plan.axes, place))
      offset = e.add(e.mul(offset, axis.input), index);
    Value old = e.load(kernel.scratch, offset, type);
    e.store(arith::AddFOp::create(e.b, e.loc, old, value), kernel.scratch, offset);
  }

  /// To the window's winner; a window without one lies outside altogether.
  void scatter(dl::MaxPoolBackwardOp op, const Point &point, ArrayRef<Value> output) {
    BodyEmitter body = kernel.body();
    Value dy = e.convertFloat(body.emit(op.getDy(), point), type);
    Value index =
        arith::ExtUIOp::create(e.b, e.loc, e.b.getI64Type(), body.emit(op.getIndex(), point));
    SmallVector<Value> taps = e.delinearize(index, plan.kernel()), place;
    Value inside = e.number(1, e.b.getI1Type());
    for (auto [i, axis] : llvm::enumerate(plan.axes)) {
      Value at = e.add(e.mul(output[i], axis.stride), e.mul(taps[i], axis.dilation));
      at = e.sub(at, e.constant(axis.low));
      if (plan.hasEdge(i)) {
        inside = e.both(inside, e.less(e.constant(-1), at));
        inside = e.both(inside, e.less(at, e.constant(axis.input)));
      }
      place.push_back(at);
    }
    e.when(inside, [&] { add(place, dy); });
  }

  /// To all elements of the window alike.
  void spread(dl::AveragePoolBackwardOp op, const Point &point, ArrayRef<Value> output) {
    BodyEmitter body = kernel.body();
    Value dy = e.convertFloat(body.emit(op.getDy(), point), type);
    WindowEmitter window(e, plan, output, 1);
    Value count = e.number(double(plan.kernelSize()), type);
    if (plan.hasEdges())
      count = window.taps(e.number(0, type), [&](const Tap &tap, ValueRange carried) {
        Value counts = op.getCountIncludePad() ? tap.insidePadded : tap.inside;
        return SmallVector<Value>{
            arith::AddFOp::create(e.b, e.loc, carried[0], countOf(e, counts, type))};
      })[0];
    Value share = arith::DivFOp::create(e.b, e.loc, dy, count);
    window.taps({}, [&](const Tap &tap, ValueRange) {
      e.when(tap.inside ? tap.inside : e.number(1, e.b.getI1Type()),
             [&] { add(tap.place, share); });
      return SmallVector<Value>();
    });
  }

  KernelFunction &kernel;
  CodeEmitter &e;
  const WindowPlan &plan;
  ArrayRef<Value> lead;
  Type type; ///< of the sums
};

} // namespace

/// The index space of whole images, their pixels one axis if the values behind the anchor allow it.
static WalkPlan planeWalk(const KernelFunction &kernel, const WindowPlan &plan) {
  SmallVector<Value> results;
  for (unsigned number : resultsBehindAnchor(kernel.spec, true))
    results.push_back(kernel.spec.result(number));
  WalkPlan walk = plan.walk;
  auto refined = refineIndexSpace(kernel.spec, results, walk.space);
  // Otherwise single elements, which every index space has.
  if (failed(refined) || *refined != walk.space)
    walk.width = 1;
  return walk;
}

static LogicalResult emitPlanes(KernelFunction &kernel, const WindowPlan &plan) {
  CodeEmitter &e = kernel.e;
  auto numbers = resultsBehindAnchor(kernel.spec, true);
  Type type = plan.element.computed;
  auto anchor = [&](unsigned, const Point &point) {
    Value sum = point.width == 1 ? e.load(kernel.scratch, point.indices.back(), type)
                                 : e.loadVector(kernel.scratch, point.indices.back(), type,
                                                point.width, 1, point.mask);
    return e.convertFloat(sum, plan.element.stored);
  };
  WalkPlan walk = planeWalk(kernel, plan);
  return walkRows(kernel, walk, [&](ArrayRef<Value> lead, Value lower, Value upper) {
    ScatterEmitter(kernel, plan, lead).run();
    return walkRow(e, walk, lead, lower, upper, [&](ArrayRef<Point> points) {
      return storeAtPoints(kernel, numbers, points, anchor);
    });
  });
}

//===------------------------------------------------------------------------------------------===//
// Windows that tile
//===------------------------------------------------------------------------------------------===//

namespace {

/// Emits one row of inputs.
class TileEmitter {
public:
  TileEmitter(KernelFunction &kernel, const WindowPlan &plan, ArrayRef<Value> row)
      : kernel(kernel), e(kernel.e), plan(plan), row(row), width(plan.axes[2]),
        lanes(plan.walk.width) {}

  LogicalResult run() {
    int64_t step = lanes * width.kernel, whole = width.input / step * step;
    e.loop(e.constant(0), e.constant(whole), step, [&](Value first) { emit(first, step); });
    if (whole < width.input)
      emit(e.constant(whole), width.input - whole);
    return result;
  }

private:
  /// `count` inputs from `first`, which starts a window.
  void emit(Value first, int64_t count) {
    Point windows = windowsAt(e.div(first, width.kernel), llvm::divideCeil(count, width.kernel));
    BodyEmitter body = kernel.body();
    Operation *op = kernel.spec.anchorOp();
    Value dy = e.convertFloat(e.splat(body.emitVector(op->getOperand(0), windows), lanes),
                              plan.element.computed),
          winner;
    if (auto pool = dyn_cast<dl::MaxPoolBackwardOp>(op)) {
      Type wide = VectorType::get({lanes}, e.b.getI32Type());
      Value index = e.splat(body.emitVector(pool.getIndex(), windows), lanes);
      winner = arith::ExtUIOp::create(e.b, e.loc, wide, index);
    } else {
      Value size = e.number(double(plan.kernelSize()), dy.getType());
      dy = arith::DivFOp::create(e.b, e.loc, dy, size);
    }
    Value zero = e.number(0, dy.getType());
    if (windows.mask)
      dy = e.blend(windows.mask, dy, zero);
    if (Value outside = rowIsOutside())
      dy = arith::SelectOp::create(e.b, e.loc, outside, zero, dy);
    for (int64_t piece = 0; piece * lanes < count; ++piece)
      store(e.add(first, piece * lanes), count - piece * lanes, piece, dy, winner);
  }

  /// The windows of this row from number `first` on; only those that exist.
  Point windowsAt(Value first, int64_t count) {
    Point point;
    point.shape = plan.space(&dl::WindowAxis::output);
    point.indices.assign(row.begin(), row.end() - 2);
    for (size_t i = 0; i < 2; ++i) {
      const dl::WindowAxis &axis = plan.axes[i];
      Value window = e.div(row[row.size() - 2 + i], axis.kernel);
      point.indices.push_back(e.minimum(window, e.constant(axis.output - 1)));
    }
    point.indices.push_back(first);
    point.axis = point.shape.size() - 1;
    point.width = lanes;
    if (auto known = CodeEmitter::known(first))
      count = std::min(count, width.output - *known);
    point.mask = e.firstLanes(count, lanes);
    return point;
  }

  /// Whether the row lies behind the last window; null: never.
  Value rowIsOutside() {
    Value outside;
    for (size_t i = 0; i < 2; ++i) {
      const dl::WindowAxis &axis = plan.axes[i];
      if (axis.output * axis.kernel >= axis.input)
        continue;
      Value behind = e.less(e.constant(axis.output * axis.kernel - 1), row[row.size() - 2 + i]);
      outside = outside ? arith::OrIOp::create(e.b, e.loc, outside, behind).getResult() : behind;
    }
    return outside;
  }

  /// Inputs piece * lanes ... of the windows: lane p takes window p / kernel, tap p % kernel of the
  /// row.
  void store(Value place, int64_t count, int64_t piece, Value dy, Value winner) {
    SmallVector<int64_t> window;
    SmallVector<int32_t> tap;
    for (int64_t p = piece * lanes; p < (piece + 1) * lanes; ++p) {
      window.push_back(p / width.kernel);
      tap.push_back(p % width.kernel);
    }
    Value value = vector::ShuffleOp::create(e.b, e.loc, dy, dy, window);
    if (winner) {
      auto type = VectorType::get({lanes}, e.b.getI32Type());
      Value taps = arith::ConstantOp::create(e.b, e.loc,
                                             DenseElementsAttr::get(type, ArrayRef<int32_t>(tap)));
      taps = arith::AddIOp::create(e.b, e.loc, taps, e.splat(firstTap(), lanes));
      Value winners = vector::ShuffleOp::create(e.b, e.loc, winner, winner, window);
      Value hit = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, winners, taps);
      value = e.blend(hit, value, e.number(0, value.getType()));
    }
    value = e.convertFloat(value, plan.element.stored);
    Point point;
    point.shape = plan.space(&dl::WindowAxis::input);
    point.indices.assign(row.begin(), row.end());
    point.indices.push_back(place);
    point.axis = point.shape.size() - 1;
    point.width = lanes;
    point.mask = e.firstLanes(count, lanes);
    auto anchor = [&](unsigned, const Point &asked) { return asked == point ? value : Value(); };
    if (failed(storeAtPoints(kernel, resultsBehindAnchor(kernel.spec, true), point, anchor)))
      result = failure();
  }

  /// Number of the row's first tap in its windows, i32.
  Value firstTap() {
    ArrayRef<Value> place = row.take_back(2);
    Value depth = e.rem(place[0], plan.axes[0].kernel),
          height = e.rem(place[1], plan.axes[1].kernel);
    Value number = e.mul(e.add(e.mul(depth, plan.axes[1].kernel), height), width.kernel);
    return arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), number);
  }

  KernelFunction &kernel;
  CodeEmitter &e;
  const WindowPlan &plan;
  ArrayRef<Value> row;
  const dl::WindowAxis &width;
  int64_t lanes;
  LogicalResult result = success();
};

} // namespace

static LogicalResult emitTiles(KernelFunction &kernel, const WindowPlan &plan) {
  return walkRows(kernel, plan.walk, [&](ArrayRef<Value> row, Value, Value) {
    return TileEmitter(kernel, plan, row).run();
  });
}

LogicalResult codegen::emitWindowBackward(KernelFunction &kernel, const WindowPlan &plan) {
  return plan.tiles ? emitTiles(kernel, plan) : emitPlanes(kernel, plan);
}
