//===- ElementsGenerator.cpp - the generator of last resort -----------------------------------===//
//
// Any region but an update, attention or reductions behind a convolution, right and slow: each
// result is a phase, each of its elements a thread, and where the anchor's value is needed its
// definition is printed as loops, the CPU's, also for each term of a sum beside it. Takes every
// layout and reshape; other generators may refuse what they do not like.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/DeviceFunction.h"
#include "dialects/DL/Ops/DLIndexOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 128;

namespace {
class ElementsGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-elements"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

SmallVector<Candidate> ElementsGenerator::schedules(const KernelSpec &spec,
                                                    const CudaTarget &target) const {
  if (!spec.hasPoints() || spec.hasReductionsBehind())
    return {};
  Candidate candidate;
  candidate.schedule = "elements";
  // Each element combines its row anew.
  candidate.inPlace = spec.anchor() != Anchor::RowPasses;
  for (RankedTensorType type : spec.resultTypes())
    candidate.phases.push_back(
        {uint64_t(llvm::divideCeil(program::PhysicalLayout::get(type).elements, threads)), 0});
  // Where nothing is combined an element a thread is what other generators have, too.
  candidate.isSlow =
      !llvm::is_contained({Anchor::Map, Anchor::Transpose, Anchor::Points}, spec.anchor());
  // No generator but this one scatters: each element of the result looks at all numbers.
  if (auto scatter = dyn_cast_or_null<dl::ScatterAddOp>(spec.anchorOp())) {
    double looks = double(cast<RankedTensorType>(scatter.getIndex().getType()).getNumElements()) *
                   double(scatter.getY().getType().getNumElements());
    candidate.cost = target.machine.kernelSeconds(spec.bytes(), looks, candidate.phases.size());
    return {candidate};
  }
  // No generator but this one has anchors without loops of their own.
  if (spec.anchor() == Anchor::Points) {
    candidate.cost =
        target.machine.kernelSeconds(spec.bytes(), spec.flops(), candidate.phases.size());
    return {candidate};
  }
  // Far behind every other generator.
  candidate.handicap = 1e-2f;
  candidate.cost =
      candidate.handicap +
      target.machine.kernelSeconds(spec.bytes(), 100.0 * spec.flops(), candidate.phases.size());
  return {candidate};
}

FailureOr<KernelText> ElementsGenerator::write(const KernelSpec &spec,
                                               const Candidate &candidate) const {
  KernelText text(spec, {"map"});
  text.constant("THREADS", threads);
  text.flag("QUADS", false);
  for (auto [number, type] : llvm::enumerate(spec.resultTypes())) {
    DeviceFunction one(spec, "one", {"i"});
    if (failed(one.storeElement(number, one.index(0))))
      return failure();
    std::string body = one.print();
    if (body.empty())
      return failure();
    text.phaseWithMembers(threads, "map",
                          ("  static constexpr int ELEMENTS = " +
                           Twine(program::PhysicalLayout::get(type).elements) + ";\n" + body)
                              .str());
  }
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaElementsGenerator() {
  return std::make_unique<ElementsGenerator>();
}
