//===- PatchesGenerator.cpp - convolutions as products of patches on the CPU ------------------===//
//
// Any float, any geometry, any body before and behind, of row-major images; see Patches.h. Leaves
// to ConvolutionGenerator.cpp what is a product of pixels as they lie. Refuses bodies whose results
// cannot be written along all pixels of a channel, and what patchesRefusal names.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Convolution/Convolution.h"
#include "codegen/CPU/Convolution/Patches.h"
#include "codegen/CPU/Generators.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Direction = ConvolutionProblem::Direction;
using Operand = GemmProblem::Operand;

namespace {
class PatchesGenerator : public CpuGenerator {
public:
  StringRef name() const override { return "cpu-patches"; }
  SmallVector<Candidate> candidates(const KernelSpec &spec, const CpuTarget &target) const override;
  LogicalResult emit(const KernelSpec &spec, const Candidate &candidate, const CpuTarget &target,
                     StringRef symbol, ModuleOp module) const override {
    const ConvolutionProblem p = *packedConvolution(spec);
    return emitGemm(spec, candidate, target, symbol, module, patchesProduct(spec, p, target));
  }
};
} // namespace

/// The most bytes of patches that a phase in front packs whole.
static const int64_t mostPatches = 1 << 28;

/// Those whose patches a phase in front packs whole, where tasks would gather the same again.
static SmallVector<Candidate> explicitCandidates(const ConvolutionProblem &p, GemmProblem product,
                                                 const CpuTarget &target) {
  if (product.batch * product.k * product.n * product.element.bytes() > mostPatches)
    return {};
  product.weights = Operand::B;
  SmallVector<Candidate> all = gemmCandidates(product, target);
  llvm::erase_if(all, [](const Candidate &one) {
    return scheduleOf<GemmSchedule>(one.parameters).packed != Operand::B;
  });
  const int64_t image = p.batch * p.inChannels * p.input[0] * p.input[1] * p.input[2];
  for (Candidate &one : all) {
    // An image is another one each time. Its pixels stay in a cache from tap to tap.
    one.preparation = std::nullopt;
    one.phases.front().sideBytes = p.storedBytes * image + one.workspaceBytes;
  }
  return all;
}

SmallVector<Candidate> PatchesGenerator::candidates(const KernelSpec &spec,
                                                    const CpuTarget &target) const {
  std::optional<ConvolutionProblem> p = packedConvolution(spec);
  if (!p || spec.hasReductionsBehind() || isPixelProduct(spec, *p) ||
      !patchesRefusal(*p, target).empty())
    return {};
  const GemmProblem product = patchesProduct(spec, *p, target);
  // Backward data writes rows of pixels, as direct convolutions do.
  if (!product.finish && !isVectorAxis(spec, product.mapC.shape, 2))
    return {};
  SmallVector<Candidate> all = gemmCandidates(product, target);
  if (p->direction == Direction::Forward)
    llvm::append_range(all, explicitCandidates(*p, product, target));
  const MachineModel machine(target, p->elementBytes);
  // Direct's estimates are a tenth above the clock of such layers, and are what these stand beside.
  const double above = 1.1;
  for (Candidate &candidate : all) {
    candidate.algorithm = ConvolutionAlgorithm::Gemm;
    candidate.cost += tileSeconds(patchesCycles(*p, machine), machine);
    candidate.cost *= above;
    finishCandidate(spec, target, candidate);
  }
  return all;
}

std::unique_ptr<CpuGenerator> codegen::createPatchesGenerator() {
  return std::make_unique<PatchesGenerator>();
}
