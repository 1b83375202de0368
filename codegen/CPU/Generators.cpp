//===- Generators.cpp - the list of the CPU's generators --------------------------------------===//
#include "codegen/CPU/Generators.h"

using namespace dlc::codegen;

llvm::ArrayRef<const CpuGenerator *> dlc::codegen::cpuGenerators() {
  static const std::unique_ptr<CpuGenerator> owned[] = {
      createMapGenerator(),         createTransposeGenerator(), createReduceGenerator(),
      createRowPassesGenerator(),   createWindowGenerator(),    createSlidingSumGenerator(),
      createMultiTensorGenerator(), createScatterGenerator(),   createSumRowsGenerator(),
      createUpdateRowsGenerator(),  createAttentionGenerator(), createGemmGenerator(),
      createConvolutionGenerator(), createDepthwiseGenerator(), createWinogradGenerator(),
      createFourierGenerator(),     createLoopsGenerator()};
  static const auto pointers = [] {
    std::array<const CpuGenerator *, std::size(owned)> result;
    llvm::transform(owned, result.begin(), [](auto &generator) { return generator.get(); });
    return result;
  }();
  return pointers;
}
