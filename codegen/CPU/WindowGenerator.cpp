//===- WindowGenerator.cpp - pooling and its gradients
//---------------------------------------------------------------===//
//
//   max_pool, average_pool, max_pool_gather   each result element walks its window; vectors along
//   the result's last axis max_pool_backward, average_pool_backward  a task adds the windows of one
//   channel's image to a plane in its scratch, in
//                                             the order of the windows, then finishes the plane in
//                                             vectors
//
// Every geometry is three spatial axes, missing ones first with extent 1. Bounds are checked only
// on axes where a window can lie outside. An image belongs to one task, so gradients add up in the
// same order for any number of threads.
//
//===----------------------------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Walk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct WindowPlan {
  SmallVector<dl::WindowAxis, 3> axes; ///< depth, height, width
  SmallVector<int64_t> lead;           ///< index space of batch and channels
  bool backward = false;
  WalkPlan walk; ///< over the result; backward: over images, its last axis the plane

  static std::optional<WindowPlan> get(const KernelSpec &spec, const CpuTarget &target);

  SmallVector<int64_t> space(int64_t dl::WindowAxis::*side) const {
    SmallVector<int64_t> result = lead;
    for (const dl::WindowAxis &axis : axes)
      result.push_back(axis.*side);
    return result;
  }
  int64_t planeElements() const { return axes[0].input * axes[1].input * axes[2].input; }
  SmallVector<int64_t> kernel() const {
    return llvm::map_to_vector(axes, [](const dl::WindowAxis &axis) { return axis.kernel; });
  }
  int64_t kernelSize() const { return product(kernel()); }
  /// Whether a window can lie outside of the input along this axis.
  bool hasEdge(size_t number) const {
    const dl::WindowAxis &axis = axes[number];
    return axis.low > 0 || (axis.output - 1) * axis.stride + axis.extent() - axis.low > axis.input;
  }
  bool hasEdges() const { return hasEdge(0) || hasEdge(1) || hasEdge(2); }
};

class WindowGenerator : public KernelGenerator {
public:
  StringRef name() const override { return "cpu-window"; }
  unsigned version() const override { return 1; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===----------------------------------------------------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------------------------------------------------===//

static dl::WindowGeometry geometryOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, dl::WindowGeometry>(op)
      .Case<dl::MaxPoolOp, dl::MaxPoolBackwardOp, dl::MaxPoolGatherOp, dl::AveragePoolOp,
            dl::AveragePoolBackwardOp>([](auto pool) { return pool.getGeometry(); });
}

std::optional<WindowPlan> WindowPlan::get(const KernelSpec &spec, const CpuTarget &target) {
  Operation *op = spec.anchorOp();
  dl::WindowGeometry geometry = geometryOf(op);
  WindowPlan plan;
  plan.backward = isa<dl::MaxPoolBackwardOp, dl::AveragePoolBackwardOp>(op);
  plan.axes.assign(3 - geometry.axes.size(), dl::WindowAxis{1, 1});
  plan.axes.append(geometry.axes.begin(), geometry.axes.end());
  plan.lead = {geometry.batch * geometry.channels};
  if (!getElementTypeOrSelf(op->getResult(0)).isF32() || !followsAnchor(spec) ||
      !resultsBehindAnchor(spec, false).empty())
    return std::nullopt;
  // Operands and results by the side that they stand on.
  SmallVector<Value> small, large;
  auto results = llvm::to_vector_of<Value>(spec.block().back().getOperands());
  (plan.backward ? large : small).append(results);
  for (Value operand : op->getOperands()) {
    int64_t elements = cast<RankedTensorType>(operand.getType()).getNumElements();
    bool isX = !plan.backward && operand == op->getOperand(0);
    if (elements == 0)
      return std::nullopt;
    (isX ? large : small).push_back(operand);
  }
  auto refine = [&](ArrayRef<Value> roots, int64_t dl::WindowAxis::*side) {
    if (roots.empty())
      return true;
    SmallVector<int64_t> space = plan.space(side);
    auto refined = refineIndexSpace(spec, roots, space);
    if (failed(refined) ||
        ArrayRef<int64_t>(*refined).take_back(3) != ArrayRef<int64_t>(space).take_back(3))
      return false;
    plan.lead.assign(refined->begin(), refined->end() - 3);
    return true;
  };
  if (!refine(small, &dl::WindowAxis::output) || !refine(large, &dl::WindowAxis::input) ||
      !refine(small, &dl::WindowAxis::output))
    return std::nullopt;
  double weight = bodyWeight(spec) + 4.0 * double(geometry.kernelSize());
  if (!plan.backward) {
    plan.walk = WalkPlan::get(plan.space(&dl::WindowAxis::output), weight, target);
    plan.walk.unroll = 1;
    return plan;
  }
  SmallVector<int64_t> planes = plan.lead;
  planes.push_back(plan.planeElements());
  plan.walk = WalkPlan::get(planes, 4, target);
  plan.walk.chunk = plan.planeElements();
  return plan;
}

//===----------------------------------------------------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------------------------------------------------===//

namespace {

/// One element of a window.
struct Tap {
  Value number;             ///< in row-major order of the window
  SmallVector<Value> place; ///< in the input: depth, height, width; of the first lane
  Value inside;             ///< i1, or a vector of them; null: always
  Value insidePadded;       ///< the same for the input with its high padding
};

/// Walks the taps of the window at an output position.
class WindowEmitter {
public:
  WindowEmitter(CodeEmitter &e, const WindowPlan &plan, ArrayRef<Value> output, int64_t lanes)
      : e(e), plan(plan), output(output), lanes(lanes) {}

  using TapBody = llvm::function_ref<SmallVector<Value>(const Tap &, ValueRange carried)>;
  SmallVector<Value> taps(ValueRange init, TapBody body) {
    const int64_t unroll = 3;
    return e.nest(plan.kernel(), unroll, init, [&](ArrayRef<Value> indices, ValueRange carried) {
      return body(tapAt(indices), carried);
    });
  }

private:
  Value both(Value a, Value b) {
    if (!a || !b)
      return a ? a : b;
    if (isa<VectorType>(b.getType()) && !isa<VectorType>(a.getType()))
      a = e.splat(a, lanes);
    return arith::AndIOp::create(e.b, e.loc, a, b);
  }
  Value below(Value place, int64_t limit) {
    return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt, place,
                                 e.number(double(limit), place.getType()));
  }
  Value notNegative(Value place) {
    return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::sge, place,
                                 e.number(0, place.getType()));
  }
  /// The places of all lanes along the last axis, as 32-bit numbers.
  Value lanePlaces(Value first, int64_t stride) {
    Value narrow = arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), first);
    Value numbers = e.laneNumbers(lanes);
    Value steps =
        arith::MulIOp::create(e.b, e.loc, numbers, e.number(double(stride), numbers.getType()));
    return arith::AddIOp::create(e.b, e.loc, e.splat(narrow, lanes), steps);
  }

  Tap tapAt(ArrayRef<Value> indices) {
    Tap tap;
    tap.number = e.constant(0);
    for (auto [i, axis] : llvm::enumerate(plan.axes)) {
      tap.number = e.add(e.mul(tap.number, axis.kernel), indices[i]);
      Value place = e.add(e.mul(output[i], axis.stride), e.mul(indices[i], axis.dilation));
      place = e.sub(place, e.constant(axis.low));
      if (plan.hasEdge(i)) {
        bool vector = i == 2 && lanes > 1;
        Value places = vector ? lanePlaces(place, axis.stride) : place;
        Value limit = both(notNegative(places), below(places, axis.input));
        tap.inside = both(tap.inside, limit);
        tap.insidePadded = both(tap.insidePadded, below(places, axis.input + axis.high));
        // Memory is touched inside only.
        if (!vector)
          place = e.minimum(e.maximum(place, e.constant(0)), e.constant(axis.input - 1));
      }
      tap.place.push_back(place);
    }
    return tap;
  }

  CodeEmitter &e;
  const WindowPlan &plan;
  ArrayRef<Value> output;
  int64_t lanes;
};

} // namespace

static Value select(CodeEmitter &e, Value condition, Value a, Value c) {
  return condition ? arith::SelectOp::create(e.b, e.loc, condition, a, c).getResult() : a;
}

static Value toFloat(CodeEmitter &e, Value condition, Type type) {
  return condition ? arith::UIToFPOp::create(e.b, e.loc, type, condition).getResult()
                   : e.number(1, type);
}

//===----------------------------------------------------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------------------------------------------------===//

namespace {

/// Emits the anchor's results at one (vector) point of the output.
class PoolEmitter {
public:
  PoolEmitter(KernelFunction &kernel, const WindowPlan &plan, const Point &point)
      : kernel(kernel), e(kernel.e), plan(plan), point(point),
        output(ArrayRef<Value>(point.indices).take_back(3)), window(e, plan, output, point.width) {
    floats = laneType(e.b.getF32Type());
    integers = laneType(e.b.getI32Type());
  }

  /// Value and, of max_pool, index.
  SmallVector<Value> results() {
    Operation *op = kernel.spec.anchorOp();
    if (auto pool = dyn_cast<dl::MaxPoolOp>(op))
      return pool.getIndex() ? maximumWithIndex() : maximum();
    if (auto pool = dyn_cast<dl::AveragePoolOp>(op))
      return average(pool.getCountIncludePad());
    return gather(cast<dl::MaxPoolGatherOp>(op));
  }

private:
  Type laneType(Type element) {
    return point.width == 1 ? element : Type(VectorType::get({point.width}, element));
  }
  Value splat(Value value) { return e.splat(value, point.width); }

  /// The input at a tap; `outside` where there is none.
  Value input(const Tap &tap, double outside) {
    Point at;
    at.shape = plan.space(&dl::WindowAxis::input);
    at.indices.assign(point.indices.begin(), point.indices.end() - 3);
    at.indices.append(tap.place);
    at.width = point.width;
    at.axis = point.width > 1 ? at.shape.size() - 1 : -1;
    at.step = plan.axes[2].stride;
    at.mask = point.mask;
    if (tap.inside && point.width > 1) {
      Value inside = splat(tap.inside);
      at.mask = at.mask ? arith::AndIOp::create(e.b, e.loc, at.mask, inside).getResult() : inside;
    }
    BodyEmitter body = kernel.body();
    Value x = splat(body.emitVector(kernel.spec.anchorOp()->getOperand(0), at));
    return select(e, tap.inside, x, e.number(outside, floats));
  }

  SmallVector<Value> maximum() {
    double lowest = -std::numeric_limits<double>::infinity();
    return window.taps(e.number(lowest, floats), [&](const Tap &tap, ValueRange best) {
      Value x = input(tap, lowest);
      return SmallVector<Value>{arith::MaximumFOp::create(e.b, e.loc, best[0], x)};
    });
  }

  /// The first tap inside stands until a larger one, or the first NaN, comes.
  SmallVector<Value> maximumWithIndex() {
    using F = arith::CmpFPredicate;
    double lowest = -std::numeric_limits<double>::infinity();
    auto init = SmallVector<Value>{e.number(lowest, floats), e.number(-1, integers)};
    SmallVector<Value> found = window.taps(init, [&](const Tap &tap, ValueRange best) {
      auto compare = [&](F predicate, Value a, Value b) -> Value {
        return arith::CmpFOp::create(e.b, e.loc, predicate, a, b);
      };
      Value x = input(tap, lowest);
      Value none = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt, best[1],
                                         e.number(0, integers));
      Value nan = arith::AndIOp::create(e.b, e.loc, compare(F::UNO, x, x),
                                        compare(F::ORD, best[0], best[0]));
      Value larger = arith::OrIOp::create(e.b, e.loc, compare(F::OGT, x, best[0]), nan);
      Value take = arith::OrIOp::create(e.b, e.loc, none, larger);
      if (tap.inside)
        take = arith::AndIOp::create(e.b, e.loc, take, splat(tap.inside));
      Value number = splat(arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), tap.number));
      return SmallVector<Value>{select(e, take, x, best[0]), select(e, take, number, best[1])};
    });
    Value index = found[1];
    if (plan.hasEdges())
      index = arith::MaxSIOp::create(e.b, e.loc, index, e.number(0, integers));
    return {found[0], arith::TruncIOp::create(e.b, e.loc, laneType(e.b.getI8Type()), index)};
  }

  SmallVector<Value> average(bool countsPadding) {
    Value zero = e.number(0, floats);
    SmallVector<Value> sums =
        window.taps(SmallVector<Value>{zero, zero}, [&](const Tap &tap, ValueRange carried) {
          Value counts = countsPadding ? tap.insidePadded : tap.inside;
          if (counts)
            counts = splat(counts);
          return SmallVector<Value>{
              arith::AddFOp::create(e.b, e.loc, carried[0], input(tap, 0)),
              arith::AddFOp::create(e.b, e.loc, carried[1], toFloat(e, counts, floats))};
        });
    if (!plan.hasEdges())
      sums[1] = e.number(double(plan.kernelSize()), floats);
    return {arith::DivFOp::create(e.b, e.loc, sums[0], sums[1])};
  }

  SmallVector<Value> gather(dl::MaxPoolGatherOp op) {
    BodyEmitter body = kernel.body();
    Value index = splat(body.emitVector(op.getIndex(), point));
    return window.taps(e.number(0, floats), [&](const Tap &tap, ValueRange carried) {
      Value number = splat(arith::TruncIOp::create(e.b, e.loc, e.b.getI8Type(), tap.number));
      Value hit = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq, index, number);
      return SmallVector<Value>{select(e, hit, input(tap, 0), carried[0])};
    });
  }

  KernelFunction &kernel;
  CodeEmitter &e;
  const WindowPlan &plan;
  const Point &point;
  ArrayRef<Value> output;
  WindowEmitter window;
  Type floats, integers;
};

} // namespace

static LogicalResult emitForward(KernelFunction &kernel, const WindowPlan &plan) {
  auto numbers = resultsBehindAnchor(kernel.spec, true);
  return walkTask(kernel, plan.walk, [&](ArrayRef<Point> points) {
    const Point &point = points.front();
    SmallVector<Value> values = PoolEmitter(kernel, plan, point).results();
    auto anchor = [&](unsigned number, const Point &asked) {
      return asked == point ? values[number] : Value();
    };
    return storeAtPoints(kernel, numbers, point, anchor);
  });
}

//===----------------------------------------------------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------------------------------------------------===//

namespace {

/// Adds the windows of one image to the plane in scratch.
class ScatterEmitter {
public:
  ScatterEmitter(KernelFunction &kernel, const WindowPlan &plan, ArrayRef<Value> lead)
      : kernel(kernel), e(kernel.e), plan(plan), lead(lead), f32(e.b.getF32Type()) {}

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
    int64_t lanes = kernel.lanes, elements = plan.planeElements();
    int64_t whole = elements / lanes * lanes;
    auto zero = e.number(0, VectorType::get({lanes}, f32));
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
    Value old = e.load(kernel.scratch, offset, f32);
    e.store(arith::AddFOp::create(e.b, e.loc, old, value), kernel.scratch, offset);
  }

  /// To the window's winner; a window without one lies outside altogether.
  void scatter(dl::MaxPoolBackwardOp op, const Point &point, ArrayRef<Value> output) {
    BodyEmitter body = kernel.body();
    Value dy = body.emit(op.getDy(), point);
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
    Value dy = body.emit(op.getDy(), point);
    WindowEmitter window(e, plan, output, 1);
    Value count = e.number(double(plan.kernelSize()), f32);
    if (plan.hasEdges())
      count = window.taps(e.number(0, f32), [&](const Tap &tap, ValueRange carried) {
        Value counts = op.getCountIncludePad() ? tap.insidePadded : tap.inside;
        return SmallVector<Value>{
            arith::AddFOp::create(e.b, e.loc, carried[0], toFloat(e, counts, f32))};
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
  Type f32;
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

static LogicalResult emitBackward(KernelFunction &kernel, const WindowPlan &plan) {
  CodeEmitter &e = kernel.e;
  auto numbers = resultsBehindAnchor(kernel.spec, true);
  Type f32 = e.b.getF32Type();
  auto anchor = [&](unsigned, const Point &point) {
    return point.width == 1 ? e.load(kernel.scratch, point.indices.back(), f32)
                            : e.loadVector(kernel.scratch, point.indices.back(), f32, point.width,
                                           1, point.mask);
  };
  WalkPlan walk = planeWalk(kernel, plan);
  return walkRows(kernel, walk, [&](ArrayRef<Value> lead, Value lower, Value upper) {
    ScatterEmitter(kernel, plan, lead).run();
    return walkRow(e, walk, lead, lower, upper, [&](ArrayRef<Point> points) {
      return storeAtPoints(kernel, numbers, points, anchor);
    });
  });
}

SmallVector<Candidate> WindowGenerator::candidates(const KernelSpec &spec,
                                                   const CpuTarget &target) const {
  if (spec.anchor() != Anchor::Window)
    return {};
  std::optional<WindowPlan> plan = WindowPlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = "window " + plan->walk.text();
  uint64_t scratch = plan->backward ? plan->planeElements() * 4 : 0;
  candidate.phases = {{plan->walk.tasks(), scratch}};
  candidate.cost = walkSeconds(spec, 4 * double(spec.flops()));
  return {candidate};
}

LogicalResult WindowGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                    const CpuTarget &target, StringRef symbol,
                                    ModuleOp module) const {
  WindowPlan plan = *WindowPlan::get(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*hasWorkspace=*/false);
  LogicalResult result = plan.backward ? emitBackward(kernel, plan) : emitForward(kernel, plan);
  kernel.finish();
  return result;
}

std::unique_ptr<KernelGenerator> codegen::createWindowGenerator() {
  return std::make_unique<WindowGenerator>();
}
