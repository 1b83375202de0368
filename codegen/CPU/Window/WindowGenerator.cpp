//===- WindowGenerator.cpp - pooling and its gradients ----------------------------------------===//
//
// Forward, each result element walks its window, in vectors along the result's last axis. Backward:
// see WindowBackward.cpp.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Window/Window.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

class WindowGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-window"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

static Value select(CodeEmitter &e, Value condition, Value a, Value c) {
  return condition ? arith::SelectOp::create(e.b, e.loc, condition, a, c).getResult() : a;
}

//===------------------------------------------------------------------------------------------===//
// Forward
//===------------------------------------------------------------------------------------------===//

namespace {

/// Emits the anchor's results at one (vector) point of the output.
class PoolEmitter {
public:
  PoolEmitter(KernelFunction &kernel, const WindowPlan &plan, const Point &point)
      : kernel(kernel), e(kernel.e), plan(plan), point(point),
        output(ArrayRef<Value>(point.indices).take_back(3)), window(e, plan, output, point.width) {
    floats = laneType(plan.element.computed);
    integers = laneType(e.b.getI32Type());
  }

  /// Value and, of max_pool, index.
  SmallVector<Value> results() {
    SmallVector<Value> results = computed();
    results.front() = e.convertFloat(results.front(), plan.element.stored);
    return results;
  }

private:
  SmallVector<Value> computed() {
    Operation *op = kernel.spec.anchorOp();
    if (auto pool = dyn_cast<dl::MaxPoolOp>(op))
      return pool.getIndex() ? maximumWithIndex() : maximum();
    if (auto pool = dyn_cast<dl::AveragePoolOp>(op))
      return average(pool.getCountIncludePad());
    return gather(cast<dl::MaxPoolGatherOp>(op));
  }

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
    Value x = splat(e.convertFloat(body.emitVector(kernel.spec.anchorOp()->getOperand(0), at),
                                   plan.element.computed));
    return select(e, tap.inside, x, e.number(outside, floats));
  }

  SmallVector<Value> maximum() {
    double lowest = -std::numeric_limits<double>::infinity();
    return window.taps(e.number(lowest, floats), [&](const Tap &tap, ValueRange best) {
      Value x = input(tap, lowest);
      return SmallVector<Value>{arith::MaximumFOp::create(e.b, e.loc, best[0], x)};
    });
  }

  /// The first tap inside stands until a larger one, or the first NaN, comes. Where all are inside
  /// it is number 0, which stands from the beginning.
  SmallVector<Value> maximumWithIndex() {
    using F = arith::CmpFPredicate;
    double lowest = -std::numeric_limits<double>::infinity();
    const bool hasEdges = plan.hasEdges();
    auto init = SmallVector<Value>{e.number(lowest, floats), e.number(hasEdges ? -1 : 0, integers)};
    SmallVector<Value> found = window.taps(init, [&](const Tap &tap, ValueRange best) {
      auto compare = [&](F predicate, Value a, Value b) -> Value {
        return arith::CmpFOp::create(e.b, e.loc, predicate, a, b);
      };
      Value x = input(tap, lowest);
      Value take = arith::AndIOp::create(e.b, e.loc, compare(F::UGT, x, best[0]),
                                         compare(F::ORD, best[0], best[0]));
      if (hasEdges) {
        Value none = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt, best[1],
                                           e.number(0, integers));
        take = arith::OrIOp::create(e.b, e.loc, none, take);
      }
      if (tap.inside)
        take = arith::AndIOp::create(e.b, e.loc, take, splat(tap.inside));
      Value number = splat(arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), tap.number));
      return SmallVector<Value>{select(e, take, x, best[0]), select(e, take, number, best[1])};
    });
    Value index = found[1];
    if (hasEdges)
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
              arith::AddFOp::create(e.b, e.loc, carried[1], countOf(e, counts, floats))};
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

SmallVector<Candidate> WindowGenerator::candidates(const KernelSpec &spec,
                                                   const CpuTarget &target) const {
  if (spec.anchor() != Anchor::Window)
    return {};
  std::optional<WindowPlan> plan = WindowPlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = "window " + textOf(plan->walk);
  candidate.phases = {{plan->walk.tasks(), plan->scratchBytes()}};
  candidate.cost = walkSeconds(spec, 10 * double(spec.flops()), target);
  return {candidate};
}

LogicalResult WindowGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                    const CpuTarget &target, StringRef symbol,
                                    ModuleOp module) const {
  WindowPlan plan = *WindowPlan::get(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  LogicalResult result =
      plan.backward ? emitWindowBackward(kernel, plan) : emitForward(kernel, plan);
  kernel.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createWindowGenerator() {
  return std::make_unique<WindowGenerator>();
}
