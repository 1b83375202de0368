//===- ReduceGenerator.cpp - sums, maxima, minima and moments along any axes ------------------===//
//
// Any number of them over one index space, read once (ReduceWalk.h). A task takes some kept
// elements. Where these are too few for many cores, the first reduced axis is also split: tasks
// leave partial results in the workspace, a second phase combines them in fixed order. Nothing
// depends on the number of threads. Results that do not need a reduction (the gradient behind a
// ReLU, stored while the bias gradient sums it) are stored from the same walk.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Reduce/PartialResults.h"
#include "codegen/CPU/Reduce/ReduceWalk.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

/// A walk in tasks; all but `axes` follow from the sizes.
struct ReducePlan : ReduceWalk {
  int64_t perTask = 1; ///< units a task
  int64_t splits = 1;  ///< pieces of the first reduced axis
  int64_t chunk = 1;   ///< elements of it a piece

  static std::optional<ReducePlan> get(const KernelSpec &spec, const CpuTarget &target);

  int64_t kept() const { return product(extents(false)); }
  int64_t units() const { return product(unitSpace()); }
  int64_t unitBlocks() const { return llvm::divideCeil(units(), perTask); }
  std::string text() const;

private:
  void split(double weight);
};

class ReduceGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-reduce"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

//===------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------===//

/// Values that the walk computes: the operands, and the results that do not need a reduction.
static SmallVector<Value> walkedValues(const KernelSpec &spec) {
  SmallVector<Value> values;
  for (dl::ReductionOp op : spec.reductions())
    values.push_back(op.getReduced());
  for (unsigned number : resultsBehindAnchor(spec, false))
    values.push_back(spec.result(number));
  return values;
}

static SmallVector<Value> finishedValues(const KernelSpec &spec) {
  SmallVector<Value> values;
  for (unsigned number : resultsBehindAnchor(spec, true))
    values.push_back(spec.result(number));
  return values;
}

/// The operands' axes: neighbours of one kind are one, unless the values before or behind the
/// reduction tell them apart.
static std::optional<SmallVector<MergedAxis>> axesOf(const KernelSpec &spec) {
  dl::ReductionOp op = spec.reductions().front();
  SmallVector<MergedAxis> groups = mergedAxes(op);
  // Splits each group of `axes` into the axes that `space`, a refinement of the groups' extents,
  // has for it.
  auto refine = [](ArrayRef<MergedAxis> axes, bool onlyKept, ArrayRef<int64_t> space) {
    SmallVector<MergedAxis> result;
    for (MergedAxis axis : axes) {
      if (onlyKept && axis.reduced) {
        result.push_back(axis);
        continue;
      }
      for (int64_t rest = axis.extent; rest > 1; space = space.drop_front()) {
        result.push_back({space.front(), axis.reduced});
        rest /= space.front();
      }
    }
    return result;
  };
  if (groups.empty())
    groups.push_back({1, true});
  auto extents = [](ArrayRef<MergedAxis> axes, bool onlyKept) {
    SmallVector<int64_t> result;
    for (MergedAxis axis : axes)
      if (!onlyKept || !axis.reduced)
        result.push_back(axis.extent);
    return result;
  };
  if (groups.size() == 1 && groups[0].extent == 1)
    return groups;
  auto walked = refineIndexSpace(spec, walkedValues(spec), extents(groups, false));
  if (failed(walked))
    return std::nullopt;
  groups = refine(groups, false, *walked);
  SmallVector<int64_t> kept = extents(groups, true);
  SmallVector<Value> finished = finishedValues(spec);
  if (kept.empty() || finished.empty())
    return groups;
  auto behind = refineIndexSpace(spec, finished, kept);
  if (failed(behind))
    return std::nullopt;
  return refine(groups, true, *behind);
}

std::optional<ReducePlan> ReducePlan::get(const KernelSpec &spec, const CpuTarget &target) {
  if (!followsAnchor(spec))
    return std::nullopt;
  std::optional<SmallVector<MergedAxis>> axes = axesOf(spec);
  if (!axes)
    return std::nullopt;
  ReducePlan plan;
  static_cast<ReduceWalk &>(plan) = ReduceWalk::get(*axes, spec.reductions(), target);
  plan.split(bodyWeight(spec));
  return plan;
}

void ReducePlan::split(double weight) {
  const double grain = 65536;
  const int64_t maxTasks = 64;
  SmallVector<int64_t> reduced = extents(true);
  double work = weight * double(kept()) * double(product(reduced));
  int64_t wanted = std::clamp<int64_t>(int64_t(work / grain), 1, maxTasks);
  perTask = llvm::divideCeil(units(), std::min(wanted, units()));
  chunk = reduced.empty() ? 1 : reduced.front();
  if (unitBlocks() * 2 > wanted || reduced.empty())
    return;
  int64_t pieces = std::min(wanted / unitBlocks(), reduced.front());
  bool vectorAxis = rows() && reduced.size() == 1;
  int64_t whole = vectorAxis ? lanes * unroll : !rows() && reduced.size() == 1 ? unroll : 1;
  chunk = std::min<int64_t>(llvm::alignTo(llvm::divideCeil(reduced.front(), pieces), whole),
                            reduced.front());
  splits = llvm::divideCeil(reduced.front(), chunk);
}

std::string ReducePlan::text() const {
  std::string result = "reduce ";
  llvm::raw_string_ostream stream(result);
  for (MergedAxis axis : axes)
    stream << (axis.reduced ? "r" : "k") << axis.extent << " ";
  stream << "lanes " << lanes << " vectors " << vectors << " unroll " << unroll << " units "
         << perTask << " splits " << splits << " chunk " << chunk;
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Phases
//===------------------------------------------------------------------------------------------===//

/// The tasks' walk over units. Gives each vector's partial result to `store`, with the point of its
/// kept elements.
static LogicalResult emitUnits(
    KernelFunction &kernel, const ReducePlan &plan,
    llvm::function_ref<LogicalResult(ReduceEmitter &, const Point &, const Partial &, Value piece)>
        store) {
  CodeEmitter &e = kernel.e;
  SmallVector<int64_t> reduced = plan.extents(true);
  Value block = e.div(kernel.task, plan.splits), piece = e.rem(kernel.task, plan.splits);
  Value lower = e.constant(0), upper = e.constant(reduced.empty() ? 0 : reduced.front());
  if (plan.splits > 1) {
    lower = e.mul(piece, plan.chunk);
    upper = e.minimum(e.add(lower, plan.chunk), upper);
  }
  SmallVector<unsigned> stored = resultsBehindAnchor(kernel.spec, false);
  Value first = e.mul(block, plan.perTask), last = e.add(first, plan.perTask);
  if (plan.units() % plan.perTask != 0)
    last = e.minimum(last, e.constant(plan.units()));
  LogicalResult result = success();
  auto body = [&](Value number) {
    SmallVector<int64_t> unitSpace = plan.unitSpace();
    SmallVector<Value> unit;
    if (!unitSpace.empty())
      unit = e.delinearize(number, unitSpace);
    ReduceEmitter emitter(
        kernel, plan, kernel.spec.reductions(), [&] { return kernel.body(); },
        [&](BodyEmitter &body, const Point &point) {
          return storeAt(kernel, body, stored, point);
        });
    Partials totals = emitter.reduce(unit, lower, upper);
    for (auto [i, total] : llvm::enumerate(totals))
      if (failed(store(emitter, emitter.keptPoint(unit, i), total, piece)))
        result = failure();
    if (failed(emitter.result))
      result = failure();
  };
  if (plan.perTask == 1)
    body(first);
  else
    e.loop(first, last, 1, body);
  return result;
}

/// One phase: reduce and finish.
static LogicalResult emitWhole(KernelFunction &kernel, const ReducePlan &plan) {
  SmallVector<unsigned> finished = resultsBehindAnchor(kernel.spec, true);
  return emitUnits(kernel, plan,
                   [&](ReduceEmitter &emitter, const Point &point, const Partial &total, Value) {
                     SmallVector<Value> values = emitter.reductions.results(total);
                     auto anchor = [&](unsigned number, const Point &asked) {
                       return asked == point ? values[number] : Value();
                     };
                     return storeAtPoints(kernel, finished, point, anchor);
                   });
}

/// The workspace of two phases.
static PartialResults partialResults(const KernelSpec &spec, const ReducePlan &plan) {
  return PartialResults(spec, plan.splits, plan.kept());
}

/// First of two phases: partial results, piece by piece.
static LogicalResult emitPartial(KernelFunction &kernel, const ReducePlan &plan) {
  const PartialResults results = partialResults(kernel.spec, plan);
  return emitUnits(
      kernel, plan, [&](ReduceEmitter &, const Point &point, const Partial &total, Value piece) {
        results.store(kernel, total, piece, linearIndex(kernel.e, point), point.width, point.mask);
        return success();
      });
}

SmallVector<Candidate> ReduceGenerator::candidates(const KernelSpec &spec,
                                                   const CpuTarget &target) const {
  if (spec.anchor() != Anchor::Reduce)
    return {};
  std::optional<ReducePlan> plan = ReducePlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = plan->text();
  candidate.phases = {{uint64_t(plan->unitBlocks() * plan->splits), 0}};
  if (plan->splits > 1) {
    const PartialResults results = partialResults(spec, *plan);
    candidate.workspaceBytes = results.bytes();
    candidate.phases.push_back({results.mergePlan(plan->extents(false), target).tasks(), 0});
    candidate.phases.back().sideBytes = candidate.workspaceBytes;
  }
  double elements = double(plan->kept()) * double(product(plan->extents(true)));
  candidate.cost = walkSeconds(spec, bodyWeight(spec) * elements, target);
  return {candidate};
}

LogicalResult ReduceGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                    const CpuTarget &target, StringRef symbol,
                                    ModuleOp module) const {
  std::optional<ReducePlan> plan = ReducePlan::get(spec, target);
  bool split = plan->splits > 1;
  KernelFunction first(spec, target, module, phaseSymbol(symbol, candidate, 0), split);
  LogicalResult result = split ? emitPartial(first, *plan) : emitWhole(first, *plan);
  first.finish();
  if (!split || failed(result))
    return result;
  KernelFunction second(spec, target, module, phaseSymbol(symbol, candidate, 1), split);
  result = partialResults(spec, *plan)
               .emitMerge(second, plan->extents(false), resultsBehindAnchor(spec, true));
  second.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createReduceGenerator() {
  return std::make_unique<ReduceGenerator>();
}
