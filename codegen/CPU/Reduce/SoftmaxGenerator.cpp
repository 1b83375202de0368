//===- SoftmaxGenerator.cpp - softmax cross entropy, its gradient, accuracy -------------------===//
//
// A row is what stands along the op's axis. Rows whose elements are neighbours are walked in
// vectors along the classes; otherwise a vector holds one class of several rows, and rows never
// mix. The largest logit is subtracted before anything is exponentiated. Logits are computed anew
// in each pass over a row: they come from the nearest cache, or stay in registers.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/DLCompositeOps.h"
#include "dialects/DL/DLLossOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// What the three ops have in common.
struct SoftmaxOp {
  Value logits, label, dloss; ///< dloss: of the gradient only
  int64_t axis = 0;

  static SoftmaxOp get(Operation *op) {
    return llvm::TypeSwitch<Operation *, SoftmaxOp>(op)
        .Case<dl::SoftmaxCrossEntropyOp, dl::AccuracyOp>([](auto op) {
          return SoftmaxOp{op.getLogits(), op.getLabel(), {}, int64_t(op.getAxis())};
        })
        .Case<dl::SoftmaxCrossEntropyBackwardOp>([](auto op) {
          return SoftmaxOp{op.getLogits(), op.getLabel(), op.getDloss(), int64_t(op.getAxis())};
        });
  }
};

/// The logits' index space: `before` the classes, the classes, `behind` them.
struct SoftmaxPlan {
  SmallVector<int64_t> before, behind;
  int64_t classes = 1;
  int64_t lanes = 1; ///< of a vector: classes (alongClasses) or rows
  WalkPlan rows;     ///< walk over the rows; its last axis is the lanes' if rows are the lanes

  static std::optional<SoftmaxPlan> get(const KernelSpec &spec, const CpuTarget &target);
  bool alongClasses() const { return behind.empty(); }
  SmallVector<int64_t> rowSpace() const {
    SmallVector<int64_t> space = before;
    space.append(behind);
    return space;
  }
};

class SoftmaxGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-softmax"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

std::optional<SoftmaxPlan> SoftmaxPlan::get(const KernelSpec &spec, const CpuTarget &target) {
  SoftmaxOp op = SoftmaxOp::get(spec.anchorOp());
  auto type = cast<RankedTensorType>(op.logits.getType());
  if (!type.getElementType().isF32() || !followsAnchor(spec) ||
      !resultsBehindAnchor(spec, false).empty() || type.getNumElements() == 0)
    return std::nullopt;
  SoftmaxPlan plan;
  plan.classes = type.getDimSize(op.axis);
  for (int64_t extent : type.getShape().take_front(op.axis))
    plan.before.push_back(extent);
  for (int64_t extent : type.getShape().drop_front(op.axis + 1))
    if (extent != 1)
      plan.behind.push_back(extent);
  // All values must be regular in this space.
  SmallVector<int64_t> space = plan.before;
  space.push_back(plan.classes);
  space.append(plan.behind);
  SmallVector<Value> atLogits{op.logits}, atRows{op.label};
  if (op.dloss)
    atRows.push_back(op.dloss);
  for (Value result : spec.block().back().getOperands())
    (op.dloss ? atLogits : atRows).push_back(result);
  SmallVector<int64_t> rows = plan.rowSpace();
  if (rows.empty())
    rows.push_back(1);
  auto refinedLogits = refineIndexSpace(spec, atLogits, space);
  auto refinedRows = refineIndexSpace(spec, atRows, rows);
  if (failed(refinedLogits) || failed(refinedRows) || *refinedLogits != space ||
      *refinedRows != rows)
    return std::nullopt;
  double weight = 40.0 * double(plan.classes);
  if (plan.alongClasses()) {
    plan.lanes = std::min<int64_t>(target.vectorBytes / 4, llvm::PowerOf2Ceil(plan.classes));
    SmallVector<int64_t> single = rows;
    single.push_back(1);
    plan.rows = WalkPlan::get(single, weight / double(plan.lanes), target);
  } else {
    plan.rows = WalkPlan::get(rows, weight, target);
    plan.lanes = plan.rows.width;
  }
  plan.rows.unroll = 1;
  return plan;
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

namespace {

/// Emits one row, or one vector of rows. `lanes` values are vectors in both cases, scalars if
/// plan.lanes is 1.
class RowEmitter {
public:
  RowEmitter(KernelFunction &kernel, const SoftmaxPlan &plan, const Point &row)
      : kernel(kernel), e(kernel.e), plan(plan), op(SoftmaxOp::get(kernel.spec.anchorOp())),
        row(row), body(kernel.body()) {
    floats = laneType(e.b.getF32Type());
    integers = laneType(e.b.getI32Type());
  }

  LogicalResult emit();

private:
  Type laneType(Type element) {
    return plan.lanes == 1 ? element : Type(VectorType::get({plan.lanes}, element));
  }
  Value splat(Value value) { return e.splat(value, plan.lanes); }
  Value is(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(e.b, e.loc, predicate, a, b);
  }
  Value is(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(e.b, e.loc, predicate, a, b);
  }
  Value select(Value c, Value a, Value b) { return arith::SelectOp::create(e.b, e.loc, c, a, b); }
  Value addf(Value a, Value b) { return arith::AddFOp::create(e.b, e.loc, a, b); }
  Value subf(Value a, Value b) { return arith::SubFOp::create(e.b, e.loc, a, b); }
  Value mulf(Value a, Value b) { return arith::MulFOp::create(e.b, e.loc, a, b); }
  Value divf(Value a, Value b) { return arith::DivFOp::create(e.b, e.loc, a, b); }
  Value maxf(Value a, Value b) { return arith::MaximumFOp::create(e.b, e.loc, a, b); }
  Value exp(Value x) { return math::ExpOp::create(e.b, e.loc, x); }

  /// One step of a pass: the logits at `point` (lanes behind the last class are `off`), and each
  /// lane's class.
  struct Step {
    Point point;
    Value classes;
  };
  Value logits(const Step &step, double off);
  using Pass = llvm::function_ref<SmallVector<Value>(const Step &, ValueRange carried)>;
  SmallVector<Value> pass(ValueRange init, Pass turn);
  /// Combines the lanes if they are classes of one row.
  Value finish(Value lanes, llvm::function_ref<Value(Value, Value)> combine);

  void readLabel();
  void maximumAndSum(bool picks);
  Value loss();
  Value accuracy();
  LogicalResult gradient();
  LogicalResult storeRow(Value value);

  KernelFunction &kernel;
  CodeEmitter &e;
  const SoftmaxPlan &plan;
  SoftmaxOp op;
  Point row;
  BodyEmitter body; ///< for values that do not depend on the class
  Type floats, integers;
  Value label, valid; ///< of the row, or of each lane's row
  Value maximum, sum, picked;
};

} // namespace

Value RowEmitter::logits(const Step &step, double off) {
  BodyEmitter fresh = kernel.body();
  Value value = splat(fresh.emitVector(op.logits, step.point));
  return plan.alongClasses() ? e.blend(step.point.mask, value, e.number(off, floats)) : value;
}

SmallVector<Value> RowEmitter::pass(ValueRange init, Pass turn) {
  auto stepAt = [&](Value index) {
    Step step;
    Point &point = step.point;
    point.shape = plan.before;
    point.shape.push_back(plan.classes);
    point.shape.append(plan.behind);
    size_t axis = plan.before.size();
    point.indices.assign(row.indices.begin(), row.indices.begin() + axis);
    point.indices.push_back(index);
    Value number = arith::TruncIOp::create(e.b, e.loc, e.b.getI32Type(), index);
    step.classes = splat(number);
    if (!plan.alongClasses()) {
      point.indices.append(row.indices.begin() + axis, row.indices.end());
      point.width = row.width;
      point.axis = row.width > 1 ? point.shape.size() - 1 : -1;
      point.mask = row.mask;
    } else if (plan.lanes > 1) {
      step.classes = arith::AddIOp::create(e.b, e.loc, step.classes, e.laneNumbers(plan.lanes));
      point.width = plan.lanes;
      point.axis = axis;
    }
    return step;
  };
  int64_t width = plan.alongClasses() ? plan.lanes : 1;
  int64_t whole = plan.classes / width * width;
  SmallVector<Value> values =
      e.carry(e.constant(0), e.constant(whole), width, init,
              [&](Value index, ValueRange carried) { return turn(stepAt(index), carried); });
  if (whole == plan.classes)
    return values;
  Step rest = stepAt(e.constant(whole));
  rest.point.mask = e.firstLanes(plan.classes - whole, width);
  return turn(rest, values);
}

Value RowEmitter::finish(Value lanes, llvm::function_ref<Value(Value, Value)> combine) {
  if (!plan.alongClasses() || plan.lanes == 1)
    return lanes;
  return splat(e.reduceLanes(lanes, combine));
}

void RowEmitter::readLabel() {
  Value wide = splat(body.emitVector(op.label, row));
  Type element = getElementTypeOrSelf(wide);
  Value zero = e.number(0, wide.getType());
  Value end = e.number(double(plan.classes), wide.getType());
  valid = arith::AndIOp::create(e.b, e.loc, is(arith::CmpIPredicate::sge, wide, zero),
                                is(arith::CmpIPredicate::slt, wide, end));
  label = element.isInteger(64) ? arith::TruncIOp::create(e.b, e.loc, integers, wide).getResult()
                                : wide;
}

/// Fills `maximum` and `sum`; with `picks`, also the label's logit.
void RowEmitter::maximumAndSum(bool picks) {
  const double lowest = -std::numeric_limits<double>::infinity();
  auto largest = [&](Value a, Value b) { return maxf(a, b); };
  auto plus = [&](Value a, Value b) { return addf(a, b); };
  maximum = pass(e.number(lowest, floats), [&](const Step &step, ValueRange carried) {
    return SmallVector<Value>{maxf(carried[0], logits(step, lowest))};
  })[0];
  maximum = finish(maximum, largest);
  Value zero = e.number(0, floats);
  SmallVector<Value> sums =
      pass(SmallVector<Value>{zero, zero}, [&](const Step &step, ValueRange carried) {
        Value x = logits(step, lowest);
        Value total = addf(carried[0], exp(subf(x, maximum)));
        if (!picks)
          return SmallVector<Value>{total, carried[1]};
        Value hit = is(arith::CmpIPredicate::eq, step.classes, label);
        return SmallVector<Value>{total, addf(carried[1], select(hit, x, zero))};
      });
  sum = finish(sums[0], plus);
  picked = picks ? finish(sums[1], plus) : Value();
}

Value RowEmitter::loss() {
  maximumAndSum(/*picks=*/true);
  // The difference first: the maximum and the label's logit are both large where all logits are.
  Value log = math::LogOp::create(e.b, e.loc, sum);
  return select(valid, addf(log, subf(maximum, picked)), e.number(0, floats));
}

Value RowEmitter::accuracy() {
  const double lowest = -std::numeric_limits<double>::infinity();
  Value none = e.number(std::numeric_limits<int32_t>::max(), integers);
  SmallVector<Value> best =
      pass(SmallVector<Value>{e.number(lowest, floats), none},
           [&](const Step &step, ValueRange carried) {
             Value x = logits(step, lowest);
             // Later classes must be larger; a lane's first class stands until then.
             Value first = is(arith::CmpIPredicate::eq, carried[1], none);
             Value larger = arith::OrIOp::create(e.b, e.loc, first,
                                                 is(arith::CmpFPredicate::OGT, x, carried[0]));
             return SmallVector<Value>{select(larger, x, carried[0]),
                                       select(larger, step.classes, carried[1])};
           });
  maximum = finish(best[0], [&](Value a, Value b) { return maxf(a, b); });
  Value candidates = select(is(arith::CmpFPredicate::OEQ, best[0], maximum), best[1], none);
  Value winner = finish(candidates, [&](Value a, Value b) {
    return arith::MinSIOp::create(e.b, e.loc, a, b).getResult();
  });
  Value hit = is(arith::CmpIPredicate::eq, winner, label);
  hit = arith::AndIOp::create(e.b, e.loc, hit, valid);
  return select(hit, e.number(1, floats), e.number(0, floats));
}

LogicalResult RowEmitter::gradient() {
  maximumAndSum(/*picks=*/false);
  Value zero = e.number(0, floats), one = e.number(1, floats);
  Value dloss = select(valid, splat(body.emitVector(op.dloss, row)), zero);
  Value scale = divf(one, sum);
  LogicalResult result = success();
  auto numbers = resultsBehindAnchor(kernel.spec, true);
  pass({}, [&](const Step &step, ValueRange) {
    Value p = mulf(exp(subf(logits(step, 0), maximum)), scale);
    Value hit = is(arith::CmpIPredicate::eq, step.classes, label);
    Value gradient = mulf(dloss, subf(p, select(hit, one, zero)));
    auto anchor = [&](unsigned, const Point &asked) {
      return asked == step.point ? gradient : Value();
    };
    if (failed(storeAtPoints(kernel, numbers, step.point, anchor)))
      result = failure();
    return SmallVector<Value>();
  });
  return result;
}

LogicalResult RowEmitter::storeRow(Value value) {
  // Classes in lanes: all lanes are the row's value.
  if (plan.alongClasses() && plan.lanes > 1)
    value = e.extractLane(value, 0);
  auto anchor = [&](unsigned, const Point &asked) { return asked == row ? value : Value(); };
  return storeAtPoints(kernel, resultsBehindAnchor(kernel.spec, true), row, anchor);
}

LogicalResult RowEmitter::emit() {
  readLabel();
  Operation *anchor = kernel.spec.anchorOp();
  if (isa<dl::SoftmaxCrossEntropyOp>(anchor))
    return storeRow(loss());
  if (isa<dl::AccuracyOp>(anchor))
    return storeRow(accuracy());
  return gradient();
}

SmallVector<Candidate> SoftmaxGenerator::candidates(const KernelSpec &spec,
                                                    const CpuTarget &target) const {
  if (spec.anchor() != Anchor::Softmax)
    return {};
  std::optional<SoftmaxPlan> plan = SoftmaxPlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = "softmax lanes " + std::to_string(plan->lanes) + " " + plan->rows.text();
  candidate.phases = {{plan->rows.tasks(), 0}};
  candidate.cost = walkSeconds(spec, 10 * double(spec.flops()), target);
  return {candidate};
}

LogicalResult SoftmaxGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                     const CpuTarget &target, StringRef symbol,
                                     ModuleOp module) const {
  SoftmaxPlan plan = *SoftmaxPlan::get(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*hasWorkspace=*/false);
  LogicalResult result = walkTask(kernel, plan.rows, [&](ArrayRef<Point> points) {
    return RowEmitter(kernel, plan, points.front()).emit();
  });
  kernel.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createSoftmaxGenerator() {
  return std::make_unique<SoftmaxGenerator>();
}
