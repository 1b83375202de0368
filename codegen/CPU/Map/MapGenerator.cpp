//===- MapGenerator.cpp - element-wise kernels ------------------------------------------------===//
//
// All results have the same number of elements and are walked in one index space, the coarsest in
// which every operand is regular: a plain chain is one axis, a bias over channels makes three. The
// last axis is walked in vectors, the others in a loop over rows; a task takes some rows, or a
// piece of few long ones. A result that is tensors side by side, a concat, is walked part by part:
// no element is chosen among all.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

class MapGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-map"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

static SmallVector<Value> resultsOf(const KernelSpec &spec) {
  return llvm::to_vector_of<Value>(spec.block().back().getOperands());
}

namespace {
/// A kernel whose only result is tensors side by side along the last axis of [outer, inner].
struct Join {
  struct Part {
    Value value;
    int64_t begin, inner;
  };
  int64_t outer = 1, inner = 1;
  SmallVector<Part> parts;
  WalkPlan plan; ///< a task takes whole rows

  static std::optional<Join> get(const KernelSpec &spec, const CpuTarget &target);
};
} // namespace

/// Nothing if rows are so few that tasks should divide them.
std::optional<Join> Join::get(const KernelSpec &spec, const CpuTarget &target) {
  auto concat = spec.resultTypes().size() == 1 ? spec.result(0).getDefiningOp<dl::ConcatOp>()
                                               : dl::ConcatOp();
  if (!concat || !program::PhysicalLayout::get(spec.resultTypes().front()).rowMajor)
    return std::nullopt;
  const int64_t axis = concat.getAxis();
  auto innerOf = [&](Value value) {
    return product(cast<RankedTensorType>(value.getType()).getShape().drop_front(axis));
  };
  Join join;
  join.outer = product(spec.resultTypes().front().getShape().take_front(axis));
  join.inner = innerOf(concat.getY());
  int64_t begin = 0;
  for (Value value : concat.getXs()) {
    const Part part{value, begin, innerOf(value)};
    const int64_t space[] = {join.outer, part.inner};
    begin += part.inner;
    if (part.inner == 0)
      continue;
    auto refined = refineIndexSpace(spec, value, space);
    if (failed(refined) || ArrayRef<int64_t>(*refined) != ArrayRef<int64_t>(space))
      return std::nullopt;
    join.parts.push_back(part);
  }
  if (join.outer * join.inner == 0)
    return std::nullopt;
  // Each element is read and written, and nothing else.
  join.plan = WalkPlan::get({join.outer, join.inner}, 1 + bodyWeight(spec), target);
  return join.plan.chunks() == 1 ? std::optional(join) : std::nullopt;
}

/// Stores one part of a row.
static LogicalResult emitPart(KernelFunction &kernel, const Join &join, const Join::Part &part,
                              ArrayRef<Value> row) {
  CodeEmitter &e = kernel.e;
  WalkPlan walk;
  walk.space = {join.outer, part.inner};
  walk.width = std::min<int64_t>(kernel.lanes, llvm::PowerOf2Ceil(part.inner));
  walk.unroll = std::clamp<int64_t>(part.inner / walk.width, 1, 4);
  auto store = [&](ArrayRef<Point> points) {
    SmallVector<Value> values;
    for (const Point &point : points) {
      values.push_back(kernel.body().emitStored(part.value, point));
      if (!values.back())
        return failure();
    }
    for (auto [value, point] : llvm::zip_equal(values, points)) {
      Point place = point;
      place.shape = {join.outer, join.inner};
      place.indices.back() = e.add(point.indices.back(), part.begin);
      kernel.store(value, kernel.result(0), kernel.spec.resultTypes().front(), place);
    }
    return success();
  };
  return walkRow(e, walk, row, e.constant(0), e.constant(part.inner), store);
}

SmallVector<Candidate> MapGenerator::candidates(const KernelSpec &spec,
                                                const CpuTarget &target) const {
  if ((spec.anchor() != Anchor::Map && spec.anchor() != Anchor::Transpose) ||
      spec.resultTypes().empty())
    return {};
  if (std::optional<Join> join = Join::get(spec, target)) {
    Candidate candidate;
    candidate.schedule = "join " + textOf(join->plan);
    candidate.phases = {{join->plan.tasks(), 0}};
    candidate.cost =
        walkSeconds(spec, bodyWeight(spec) * double(join->outer * join->inner), target);
    candidate.parameters = numbersOf(join->plan);
    return {candidate};
  }
  FailureOr<SmallVector<int64_t>> space =
      refineIndexSpace(spec, resultsOf(spec), spec.resultTypes().front().getNumElements());
  if (failed(space))
    return {};
  WalkPlan plan = WalkPlan::get(*space, bodyWeight(spec), target);
  Candidate candidate;
  candidate.schedule = "map " + textOf(plan);
  candidate.phases = {{plan.tasks(), 0}};
  candidate.cost = walkSeconds(spec, bodyWeight(spec) * double(product(*space)), target);
  candidate.parameters = numbersOf(plan);
  return {candidate};
}

LogicalResult MapGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                 const CpuTarget &target, StringRef symbol, ModuleOp module) const {
  WalkPlan plan = scheduleOf<WalkPlan>(candidate.parameters);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  if (std::optional<Join> join = Join::get(spec, target)) {
    LogicalResult result = walkRows(kernel, plan, [&](ArrayRef<Value> row, Value, Value) {
      LogicalResult ofRow = success();
      for (const Join::Part &part : join->parts)
        if (failed(emitPart(kernel, *join, part, row)))
          ofRow = failure();
      return ofRow;
    });
    kernel.finish();
    return result;
  }
  auto numbers = llvm::to_vector(llvm::seq<unsigned>(0, spec.resultTypes().size()));
  LogicalResult result = walkTask(kernel, plan, [&](ArrayRef<Point> points) {
    return storeAtPoints(kernel, numbers, points, {});
  });
  kernel.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createMapGenerator() {
  return std::make_unique<MapGenerator>();
}
