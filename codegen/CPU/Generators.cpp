//===- Generators.cpp - the list of the CPU's generators --------------------------------------===//
#include "codegen/CPU/Generators.h"
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

llvm::ArrayRef<const CpuGenerator *> dlc::codegen::cpuGenerators() {
  static const std::unique_ptr<CpuGenerator> owned[] = {createMapGenerator(),
                                                        createTransposeGenerator(),
                                                        createReduceGenerator(),
                                                        createRowPassesGenerator(),
                                                        createWindowGenerator(),
                                                        createSlidingSumGenerator(),
                                                        createSampleGradientGenerator(),
                                                        createMultiTensorGenerator(),
                                                        createScatterGenerator(),
                                                        createSumRowsGenerator(),
                                                        createUpdateRowsGenerator(),
                                                        createAttentionGenerator(),
                                                        createGemmGenerator(),
                                                        createConvolutionGenerator(),
                                                        createPatchesGenerator(),
                                                        createDepthwiseGenerator(),
                                                        createWinogradGenerator(),
                                                        createFourierGenerator(),
                                                        createLoopsGenerator()};
  static const auto pointers = [] {
    std::array<const CpuGenerator *, std::size(owned)> result;
    llvm::transform(owned, result.begin(), [](auto &generator) { return generator.get(); });
    return result;
  }();
  return pointers;
}

static Type elementOf(const KernelSpec &spec) {
  return getElementTypeOrSelf(spec.anchorOp()->getResult(0));
}

bool codegen::hasFastCode(const KernelSpec &spec) {
  switch (spec.anchor()) {
  case Anchor::Attention:
    return elementOf(spec).isF32();
  case Anchor::SumRows:
  case Anchor::UpdateRows:
    return elementOf(spec).isF32() || elementOf(spec).isF64();
  case Anchor::Scatter:
    return llvm::is_contained({32u, 64u}, elementOf(spec).getIntOrFloatBitWidth());
  default:
    return true;
  }
}

/// Whether a row of what a window or a filter moves over is longer than places are counted.
static bool hasLongRows(const KernelSpec &spec) {
  if (spec.anchor() != Anchor::Window && spec.anchor() != Anchor::Convolution)
    return false;
  return llvm::any_of(spec.anchorOp()->getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getShape().back() > mostPlacesOfRow;
  });
}

/// Those of hasFastCode.
static StringRef fastTypes(Anchor anchor) {
  switch (anchor) {
  case Anchor::Attention:
    return "f32";
  case Anchor::Scatter:
    return "types of 32 and 64 bits";
  default:
    return "f32 and f64";
  }
}

std::string codegen::cpuRefusal(const KernelSpec &spec) {
  if (!hasFastCode(spec)) {
    std::string element;
    llvm::raw_string_ostream(element) << elementOf(spec);
    return "there is no fast code for " + pluralName(spec.anchor()).str() + " in " + element +
           ", only in " + fastTypes(spec.anchor()).str();
  }
  if (hasLongRows(spec))
    return llvm::formatv("its fast code counts the pixels of a row up to {0}", mostPlacesOfRow);
  return "what is fused around it needs single elements";
}
