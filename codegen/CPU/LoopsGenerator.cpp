//===- LoopsGenerator.cpp - the generator of last resort
//-------------------------------------------------------------===//
//
// Any region whose anchor is on tensors, right and slow: each element of each result is computed on
// its own, and where the anchor's value is needed its definition is written out as loops. Takes
// every layout, type, reshape and empty tensor; other generators may refuse what they do not like.
//
//===----------------------------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/PlainLoops.h"
#include "codegen/CPU/Walk.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {

class LoopsGenerator : public KernelGenerator {
public:
  StringRef name() const override { return "cpu-loops"; }
  unsigned version() const override { return 1; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override;
};

} // namespace

/// One phase a result: tasks of equal shares of its elements.
static WalkPlan planOf(const KernelSpec &spec, unsigned number) {
  const int64_t maxTasks = 64;
  WalkPlan plan;
  int64_t elements = spec.resultTypes()[number].getNumElements();
  plan.space = {elements, 1};
  plan.rows = std::max<int64_t>(1, (elements + maxTasks - 1) / maxTasks);
  return plan;
}

SmallVector<Candidate> LoopsGenerator::candidates(const KernelSpec &spec,
                                                  const CpuTarget &target) const {
  if (spec.anchor() == Anchor::MultiTensor)
    return {};
  Candidate candidate;
  candidate.schedule = "loops";
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number)
    candidate.phases.push_back({planOf(spec, number).tasks(), 0});
  // Far behind every other generator.
  const double operationsPerSecond = 1e8;
  candidate.cost = 1e-3 + double(spec.flops() + spec.bytes()) / operationsPerSecond;
  return {candidate};
}

LogicalResult LoopsGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                   const CpuTarget &target, StringRef symbol,
                                   ModuleOp module) const {
  for (unsigned number = 0; number < spec.resultTypes().size(); ++number) {
    KernelFunction kernel(spec, target, module, phaseSymbol(symbol, candidate, number),
                          /*hasWorkspace=*/false);
    auto anchor = [&](unsigned result, const Point &point) {
      return plainAnchorValue(kernel, result, point);
    };
    LogicalResult result = walkTask(kernel, planOf(spec, number), [&](ArrayRef<Point> points) {
      return storeAtPoints(kernel, number, points, anchor);
    });
    kernel.finish();
    if (failed(result))
      return failure();
  }
  return success();
}

std::unique_ptr<KernelGenerator> codegen::createLoopsGenerator() {
  return std::make_unique<LoopsGenerator>();
}
