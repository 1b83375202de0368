//===- LoopsGenerator.cpp - the generator of last resort --------------------------------------===//
//
// Any region whose anchor is on tensors, right and slow: each element of each result is computed on
// its own, and where the anchor's value is needed its definition is written out as loops. Takes
// every layout, type, reshape and empty tensor; other generators may refuse what they do not like.
// Not so attention, which is its own formula where its generator does not take it.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
#include "codegen/Kernel/PlainLoops.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

class LoopsGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-loops"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

/// One phase a result: tasks of equal shares of its elements, the padding of its layout included.
static WalkPlan planOf(const KernelSpec &spec, unsigned number) {
  const int64_t maxTasks = 64;
  WalkPlan plan;
  int64_t elements = program::PhysicalLayout::get(spec.resultTypes()[number]).elements;
  plan.space = {elements, 1};
  plan.rows = std::max<int64_t>(1, (elements + maxTasks - 1) / maxTasks);
  return plan;
}

/// Stores element `linear` of a result.
static LogicalResult storeElement(KernelFunction &kernel, unsigned number, Value linear) {
  auto body = [&](BodyEmitter::AnchorValue anchor) { return kernel.body(std::move(anchor)); };
  Value value = plainElement({kernel.spec, kernel.e, body}, number, linear);
  if (!value)
    return failure();
  kernel.store(value, kernel.result(number), kernel.spec.resultTypes()[number], linear);
  return success();
}

SmallVector<Candidate> LoopsGenerator::candidates(const KernelSpec &spec,
                                                  const CpuTarget &target) const {
  if (!spec.hasPoints() || spec.hasReductionsBehind())
    return {};
  Candidate candidate;
  candidate.schedule = "loops";
  // Each element combines its row anew.
  candidate.inPlace = spec.anchor() != Anchor::RowPasses;
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    candidate.phases.push_back({planOf(spec, number).tasks(), 0});
  // Far behind every other generator, if there is one.
  candidate.isSlow = spec.anchor() != Anchor::Points;
  candidate.handicap = 1e-3f;
  candidate.cost = candidate.handicap +
                   double(spec.flops() + spec.bytes()) / target.machine.scalarOperationsPerSecond;
  return {candidate};
}

LogicalResult LoopsGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                   const CpuTarget &target, StringRef symbol,
                                   ModuleOp module) const {
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number) {
    KernelFunction kernel(spec, target, module, phaseSymbol(symbol, candidate, number),
                          /*workspaces=*/0);
    LogicalResult result = walkTask(kernel, planOf(spec, number), [&](ArrayRef<Point> points) {
      return storeElement(kernel, number, points.front().indices.front());
    });
    kernel.finish();
    if (failed(result))
      return failure();
  }
  return success();
}

std::unique_ptr<CpuGenerator> codegen::createLoopsGenerator() {
  return std::make_unique<LoopsGenerator>();
}
