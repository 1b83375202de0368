//===- MapGenerator.cpp - element-wise kernels ------------------------------------------------===//
//
// All results have the same number of elements and are walked in one index space, the coarsest in
// which every operand is regular: a plain chain is one axis, a bias over channels makes three. The
// last axis is walked in vectors, the others in a loop over rows; a task takes some rows, or a
// piece of few long ones.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Generators.h"
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

SmallVector<Candidate> MapGenerator::candidates(const KernelSpec &spec,
                                                const CpuTarget &target) const {
  if ((spec.anchor() != Anchor::Map && spec.anchor() != Anchor::Transpose) ||
      spec.resultTypes().empty())
    return {};
  FailureOr<SmallVector<int64_t>> space =
      refineIndexSpace(spec, resultsOf(spec), spec.resultTypes().front().getNumElements());
  if (failed(space))
    return {};
  WalkPlan plan = WalkPlan::get(*space, bodyWeight(spec), target);
  Candidate candidate;
  candidate.schedule = "map " + plan.text();
  candidate.phases = {{plan.tasks(), 0}};
  candidate.cost = walkSeconds(spec, bodyWeight(spec) * double(product(*space)), target);
  candidate.parameters = plan.toJSON();
  return {candidate};
}

LogicalResult MapGenerator::emit(const KernelSpec &spec, const Candidate &candidate,
                                 const CpuTarget &target, StringRef symbol, ModuleOp module) const {
  WalkPlan plan = WalkPlan::fromJSON(candidate.parameters);
  KernelFunction kernel(spec, target, module, symbol, /*hasWorkspace=*/false);
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
