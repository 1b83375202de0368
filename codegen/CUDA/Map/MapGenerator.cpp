//===- MapGenerator.cpp - element-wise kernels ------------------------------------------------===//
//
// All results over one index space, row-major. Operands that lie in it like the results, or repeat
// in its innermost axes, are loaded four elements at a time and given to the body; the body loads
// what repeats otherwise or is permuted.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/Generators.h"
#include "codegen/CUDA/Text/Quads.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

static const uint32_t threads = 256;

namespace {
class MapGenerator : public TextGenerator {
public:
  StringRef name() const override { return "cuda-map"; }
  SmallVector<Candidate> schedules(const KernelSpec &spec, const CudaTarget &target) const override;
  FailureOr<KernelText> write(const KernelSpec &spec, const Candidate &candidate) const override;
};
} // namespace

static int64_t elementsOf(const KernelSpec &spec) {
  return spec.resultTypes().empty() ? 0 : spec.resultTypes().front().getNumElements();
}

SmallVector<Candidate> MapGenerator::schedules(const KernelSpec &spec,
                                               const CudaTarget &target) const {
  if (spec.anchor() != Anchor::Map || elementsOf(spec) == 0)
    return {};
  for (RankedTensorType type : spec.resultTypes())
    if (type.getNumElements() != elementsOf(spec) || !program::PhysicalLayout::get(type).rowMajor)
      return {};
  Candidate candidate;
  candidate.schedule = "map";
  candidate.phases.push_back({blocksFor(elementsOf(spec), 4 * threads), 0});
  candidate.cost = target.machine.kernelSeconds(spec.bytes(), spec.flops(), 1);
  return {candidate};
}

FailureOr<KernelText> MapGenerator::write(const KernelSpec &spec,
                                          const Candidate &candidate) const {
  int64_t elements = elementsOf(spec);
  KernelText text(spec, {"map"});
  text.constant("ELEMENTS", elements);
  text.constant("THREADS", threads);
  text.flag("QUADS", true);
  // body(i, a0, a1, ..., r0, ...): one element, from those of the operands that lie like it.
  DeviceFunction function(spec, "body", {"i"});
  Point own = function.linearPoint(function.index(0), elements);
  Quads quads(function);
  BodyEmitter body = function.bodyGiven(
      [&](unsigned number, const Point &point) { return quads.linearOperand(number, point, own); });
  for (auto [number, type] : llvm::enumerate(spec.resultTypes()))
    if (failed(quads.result(number, "i", body.emitStored(spec.result(number), own))))
      return failure();
  if (failed(text.add(function)))
    return failure();
  text.members(quads.mapMembers());
  text.phase(threads, "map");
  return text;
}

std::unique_ptr<CudaGenerator> codegen::createCudaMapGenerator() {
  return std::make_unique<MapGenerator>();
}
