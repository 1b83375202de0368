//===- SlidingSumGenerator.cpp - sums of neighbours along one axis ----------------------------===//
//
// The index space is [outer, extent, inner], sums along the middle axis. A task takes some of the
// inner elements, and of these a strip of a few vectors at a time: first it computes what is
// summed, along all of the axis, into its scratch, with zeros on both sides; then each sum from
// there, and what stands behind it, while the strip's operands lie in the cache. Sums are added up
// in the order of the axis, so the bits do not depend on strips or threads.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Element.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

struct SlidingPlan {
  Element element;
  int64_t extent = 0, before = 0, size = 0;
  WalkPlan tasks;    ///< over [outer, inner]
  WalkPlan walk;     ///< over [outer, extent, inner]
  int64_t strip = 0; ///< inner elements

  /// Nothing if another generator is to take the kernel.
  static std::optional<SlidingPlan> get(const KernelSpec &spec, const CpuTarget &target);
  uint64_t scratchBytes() const { return (extent + size - 1) * strip * element.bytes(); }
};

class SlidingSumGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-sliding-sum"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

std::optional<SlidingPlan> SlidingPlan::get(const KernelSpec &spec, const CpuTarget &target) {
  if (spec.anchor() != Anchor::SlidingSum || !followsAnchor(spec))
    return std::nullopt;
  auto op = cast<dl::SlidingSumOp>(spec.anchorOp());
  if (op.getType().getNumElements() == 0)
    return std::nullopt;
  const auto [outer, extent, inner] = op.getExtents();
  SmallVector<Value> roots = {op.getX()};
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    roots.push_back(spec.result(number));
    if (program::PhysicalLayout::get(type).elements != op.getType().getNumElements())
      return std::nullopt;
  }
  SlidingPlan plan;
  plan.element = Element::of(spec);
  plan.extent = extent;
  plan.before = op.getBefore();
  plan.size = op.getSize();
  const double weight = bodyWeight(spec) + double(plan.size);
  plan.tasks = WalkPlan::get({outer, inner}, weight * double(extent), target, plan.element.bytes());
  const SmallVector<int64_t> space = {outer, extent, inner};
  plan.walk.space = space;
  // Single elements suit every index space.
  if (auto refined = refineIndexSpace(spec, roots, space); succeeded(refined) && *refined == space)
    plan.walk.width = plan.tasks.width;
  const int64_t wanted = target.machine.l2Bytes / 4, mostVectors = 8, width = plan.tasks.width;
  const int64_t vectorBytes = extent * width * plan.element.bytes();
  const int64_t vectors = std::clamp<int64_t>(wanted / vectorBytes, 1, mostVectors);
  plan.strip = width * std::min<int64_t>(vectors, llvm::divideCeil(inner, width));
  plan.walk.unroll = std::min<int64_t>(plan.strip / plan.walk.width, 2);
  return plan;
}

//===------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------===//

namespace {

/// Emits one strip, of the inner elements from `lower` to `upper`.
class StripEmitter {
public:
  StripEmitter(KernelFunction &kernel, const SlidingPlan &plan, Value outer, Value lower,
               Value upper)
      : kernel(kernel), e(kernel.e), plan(plan), outer(outer), lower(lower), upper(upper) {}

  LogicalResult emit() {
    each([&](ArrayRef<Point> points) { return compute(points); });
    each([&](ArrayRef<Point> points) { return finish(points); });
    return result;
  }

private:
  void each(WalkBody body) {
    e.loop(plan.extent, [&](Value place) {
      if (failed(walkRow(e, plan.walk, {outer, place}, lower, upper, body)))
        result = failure();
    });
  }
  /// Where row `place` of the padded axis has the point's first element in scratch.
  Value offset(Value place, const Point &point) {
    return e.add(e.mul(place, plan.strip), e.sub(point.indices.back(), lower));
  }
  LogicalResult compute(ArrayRef<Point> points);
  LogicalResult finish(ArrayRef<Point> points);
  Value sumAt(const Point &point);

  KernelFunction &kernel;
  CodeEmitter &e;
  const SlidingPlan &plan;
  Value outer, lower, upper;
  LogicalResult result = success();
};

} // namespace

LogicalResult StripEmitter::compute(ArrayRef<Point> points) {
  for (const Point &point : points) {
    Value value = kernel.body().emitVector(kernel.spec.anchorOp()->getOperand(0), point);
    if (!value)
      return failure();
    value = e.convertFloat(value, plan.element.computed);
    Value place = offset(e.add(point.indices[1], plan.before), point);
    if (point.width == 1)
      e.store(value, kernel.scratch, place);
    else
      e.storeVector(value, kernel.scratch, place);
  }
  return success();
}

Value StripEmitter::sumAt(const Point &point) {
  const int64_t fewTerms = 16;
  Type element = plan.element.computed;
  Type type = point.width == 1 ? element : Type(VectorType::get({point.width}, element));
  Value zero = e.number(0, type);
  Value sum = e.nest({plan.size}, fewTerms, zero, [&](ArrayRef<Value> number, ValueRange sum) {
    Value place = offset(e.add(point.indices[1], number[0]), point);
    Value term = point.width == 1 ? e.load(kernel.scratch, place, element)
                                  : e.loadVector(kernel.scratch, place, element, point.width);
    return SmallVector<Value>{arith::AddFOp::create(e.b, e.loc, sum[0], term)};
  })[0];
  return e.convertFloat(sum, plan.element.stored);
}

LogicalResult StripEmitter::finish(ArrayRef<Point> points) {
  auto anchor = [&](unsigned, const Point &asked) {
    return llvm::is_contained(points, asked) ? sumAt(asked) : Value();
  };
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, kernel.spec.resultTypes().size()));
  return storeAtPoints(kernel, all, points, anchor);
}

SmallVector<Candidate> SlidingSumGenerator::candidates(const KernelSpec &spec,
                                                       const CpuTarget &target) const {
  std::optional<SlidingPlan> plan = SlidingPlan::get(spec, target);
  if (!plan)
    return {};
  Candidate candidate;
  candidate.schedule = llvm::formatv("sliding sum of {0}, {1} lanes {2} strip {3}", plan->size,
                                     textOf(plan->tasks), plan->walk.width, plan->strip);
  candidate.phases = {{plan->tasks.tasks(), plan->scratchBytes()}};
  const double operations =
      (bodyWeight(spec) + double(plan->size)) * double(product(plan->walk.space));
  candidate.cost = walkSeconds(spec, operations, target);
  return {candidate};
}

LogicalResult SlidingSumGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                        const CpuTarget &target, StringRef symbol,
                                        ModuleOp module) const {
  SlidingPlan plan = *SlidingPlan::get(spec, target);
  KernelFunction kernel(spec, target, module, symbol, /*workspaces=*/0);
  CodeEmitter &e = kernel.e;
  auto clear = [&](int64_t first, int64_t rows) {
    Value zero = e.number(0, plan.element.computed);
    e.loop(e.constant(first * plan.strip), e.constant((first + rows) * plan.strip), 1,
           [&](Value place) { e.store(zero, kernel.scratch, place); });
  };
  clear(0, plan.before);
  clear(plan.before + plan.extent, plan.size - 1 - plan.before);
  LogicalResult result =
      walkRows(kernel, plan.tasks, [&](ArrayRef<Value> outer, Value lower, Value upper) {
        LogicalResult result = success();
        e.loop(lower, upper, plan.strip, [&](Value first) {
          Value end = e.minimum(e.add(first, plan.strip), upper);
          if (failed(StripEmitter(kernel, plan, outer.front(), first, end).emit()))
            result = failure();
        });
        return result;
      });
  kernel.finish();
  return result;
}

std::unique_ptr<CpuGenerator> codegen::createSlidingSumGenerator() {
  return std::make_unique<SlidingSumGenerator>();
}
