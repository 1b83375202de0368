//===- Generators.cpp - the list of CUDA's generators, and what they share --------------------===//
#include "codegen/CUDA/TileProductGenerator.h"
#include "dlc/abi.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

llvm::ArrayRef<const CudaGenerator *> dlc::codegen::cudaGenerators() {
  static const std::unique_ptr<CudaGenerator> owned[] = {
      createCudaMapGenerator(),       createCudaReduceGenerator(),
      createCudaRowPassesGenerator(), createCudaWindowGenerator(),
      createCudaTransposeGenerator(), createCudaMultiTensorGenerator(),
      createCudaSumRowsGenerator(),   createCudaUpdateRowsGenerator(),
      createCudaAttentionGenerator(), createCudaProductGenerator(),
      createCudaWinogradGenerator(),  createCudaFourierGenerator(),
      createLibraryGenerator(),       createCudaElementsGenerator()};
  static const auto pointers = [] {
    std::array<const CudaGenerator *, std::size(owned)> result;
    llvm::transform(owned, result.begin(), [](auto &generator) { return generator.get(); });
    return result;
  }();
  return pointers;
}

bool codegen::fitsCuda(const KernelSpec &spec) {
  auto fits = [](RankedTensorType type) {
    return !storedTypeName(type.getElementType()).empty() &&
           program::PhysicalLayout::get(type).elements < std::numeric_limits<int32_t>::max();
  };
  return llvm::all_of(spec.operandTypes(), fits) && llvm::all_of(spec.resultTypes(), fits);
}

double codegen::gpuSeconds(double bytes, double flops, unsigned launches) {
  const double bytesPerSecond = 2e12, flopsPerSecond = 1e13, launch = 2e-6;
  return launches * launch + std::max(bytes / bytesPerSecond, flops / flopsPerSecond);
}

/// As codegen/CUDA/simt/simt.h lays it out: stacks at a multiple of their size, the block, its
/// shared memory.
uint64_t codegen::simtScratchBytes(uint32_t threads) {
  const uint64_t stack = 1 << 15, block = 16 << 10, shared = 48 << 10;
  return (threads + 1) * stack + block + shared;
}

SmallVector<Candidate> TextGenerator::candidates(const KernelSpec &spec,
                                                 const CudaTarget &target) const {
  SmallVector<Candidate> all;
  if (!fitsCuda(spec))
    return all;
  for (Candidate &candidate : schedules(spec, target)) {
    FailureOr<KernelText> text = write(spec, candidate);
    if (failed(text))
      continue;
    candidate.text = std::make_shared<const CudaText>(text->finish());
    for (const CudaText::Function &function : candidate.text->functions) {
      Phase &phase = candidate.phases[function.phase];
      phase.threads = function.threads;
      phase.scratchBytes = target.simt ? simtScratchBytes(phase.threads) : 0;
    }
    all.push_back(std::move(candidate));
  }
  return all;
}
