//===- ScatterGenerator.cpp - sums of what has one number -------------------------------------===//
//
//   y[o, n, i] = sum of values[o, j, i] over all j with index[j] == n
//
// A task has some neighbouring i of one o, for all n: it clears them and then adds the values in
// the order of j. So no two tasks write to one place, and the result is the same for any number of
// threads. Types that are summed in another than they are stored in are left to cpu-loops.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct ScatterPlan {
  dl::ScatterAddOp op;
  int64_t outer, extent, count, inner;
  int64_t lanes;   ///< of a vector of the elements
  int64_t columns; ///< i of a task

  static std::optional<ScatterPlan> get(const KernelSpec &spec, const CpuTarget &target);
  int64_t chunks() const { return llvm::divideCeil(inner, columns); }
  uint64_t tasks() const { return outer * chunks(); }
};

class ScatterGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-scatter"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

std::optional<ScatterPlan> ScatterPlan::get(const KernelSpec &spec, const CpuTarget &target) {
  auto op = dyn_cast_or_null<dl::ScatterAddOp>(spec.anchorOp());
  if (!op || spec.resultTypes().size() != 1 || spec.result(0) != op.getY() ||
      !program::PhysicalLayout::get(spec.resultTypes()[0]).rowMajor ||
      spec.resultTypes()[0].getNumElements() == 0)
    return std::nullopt;
  if (!hasFastCode(spec))
    return std::nullopt;
  const unsigned bits = getElementTypeOrSelf(op.getY()).getIntOrFloatBitWidth();
  ArrayRef<int64_t> shape = spec.resultTypes()[0].getShape();
  int64_t axis = op.getAxis();
  ScatterPlan plan{op,
                   product(shape.take_front(axis)),
                   shape[axis],
                   cast<RankedTensorType>(op.getIndex().getType()).getNumElements(),
                   product(shape.drop_front(axis + 1)),
                   target.vectorBytes * 8 / bits,
                   0};
  // Short pieces of long rows come slowly from memory, so there are more tasks than enough only
  // where those have longer ones.
  const int64_t maxTasks = 64, enoughTasks = 16, longPiece = 4 * plan.lanes;
  auto columnsOf = [&](int64_t tasks) {
    return int64_t(llvm::alignTo(llvm::divideCeil(plan.outer * plan.inner, tasks), plan.lanes));
  };
  plan.columns = std::max(columnsOf(maxTasks), std::min(columnsOf(enoughTasks), longPiece));
  plan.columns = std::min(plan.columns, plan.inner);
  return plan;
}

SmallVector<Candidate> ScatterGenerator::candidates(const KernelSpec &spec,
                                                    const CpuTarget &target) const {
  std::optional<ScatterPlan> plan = ScatterPlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = "scatter columns " + std::to_string(plan->columns);
  candidate.phases = {{plan->tasks(), 0}};
  candidate.cost =
      walkSeconds(spec, bodyWeight(spec) * double(plan->outer * plan->count * plan->inner), target);
  return {candidate};
}

namespace {
/// Emits a task.
class ScatterEmitter {
public:
  ScatterEmitter(KernelFunction &kernel, ScatterPlan &plan)
      : kernel(kernel), e(kernel.e), plan(plan),
        element(computedType(getElementTypeOrSelf(plan.op.getY()))) {
    outer = e.div(kernel.task, plan.chunks());
    first = e.mul(e.rem(kernel.task, plan.chunks()), plan.columns);
    last = e.minimum(e.add(first, plan.columns), e.constant(plan.inner));
  }

  LogicalResult run() {
    Value zero = e.splat(e.number(0, element), plan.lanes);
    e.loop(plan.extent, [&](Value n) {
      forColumns([&](Value i, Value mask) {
        e.storeVector(zero, kernel.result(0), place(n, i), 1, mask);
      });
    });
    e.loop(plan.count, [&](Value j) {
      Value n = number(j);
      if (!n)
        return;
      Value inside = e.both(e.less(e.constant(-1), n), e.less(n, e.constant(plan.extent)));
      e.when(inside, [&] { forColumns([&](Value i, Value mask) { addAt(n, j, i, mask); }); });
    });
    return result;
  }

private:
  void forColumns(llvm::function_ref<void(Value i, Value mask)> body) {
    e.loop(first, last, plan.lanes, [&](Value i) {
      bool isWhole = plan.columns % plan.lanes == 0 && plan.inner % plan.columns == 0;
      body(i, isWhole ? Value() : e.firstLanes(e.sub(last, i), plan.lanes));
    });
  }
  Value place(Value n, Value i) {
    return e.add(e.mul(e.add(e.mul(outer, plan.extent), n), plan.inner), i);
  }
  /// index[j]
  Value number(Value j) {
    Point at;
    at.shape = {plan.count};
    at.indices = {j};
    BodyEmitter body = kernel.body();
    Value n = body.emit(plan.op.getIndex(), at);
    if (!n)
      result = failure();
    return !n || n.getType().isInteger(64)
               ? n
               : arith::ExtSIOp::create(e.b, e.loc, e.b.getI64Type(), n).getResult();
  }
  void addAt(Value n, Value j, Value i, Value mask) {
    Point at;
    at.shape = {plan.outer, plan.count, plan.inner};
    at.indices = {outer, j, i};
    at.axis = 2;
    at.width = plan.lanes;
    at.mask = mask;
    BodyEmitter body = kernel.body();
    Value value = body.emitVector(plan.op.getValues(), at);
    if (!value) {
      result = failure();
      return;
    }
    value = e.splat(value, plan.lanes);
    Value offset = place(n, i), base = kernel.result(0);
    Value sum = e.loadVector(base, offset, element, plan.lanes, 1, mask);
    sum = isa<FloatType>(element) ? arith::AddFOp::create(e.b, e.loc, sum, value).getResult()
                                  : arith::AddIOp::create(e.b, e.loc, sum, value).getResult();
    e.storeVector(sum, base, offset, 1, mask);
  }

  KernelFunction &kernel;
  CodeEmitter &e;
  ScatterPlan &plan;
  Type element;
  Value outer, first, last;
  LogicalResult result = success();
};
} // namespace

LogicalResult ScatterGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                     const CpuTarget &target, StringRef symbol,
                                     ModuleOp module) const {
  ScatterPlan plan = *ScatterPlan::get(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  LogicalResult result = ScatterEmitter(kernel, plan).run();
  kernel.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createScatterGenerator() {
  return std::make_unique<ScatterGenerator>();
}
