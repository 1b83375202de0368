//===- Refusals.h - why CUDA's transforms are not offered ---------------------------*- C++ -*-===//
#ifndef DLC_TEST_CODEGEN_CUDA_REFUSALS_H
#define DLC_TEST_CODEGEN_CUDA_REFUSALS_H

#include "codegen/CUDA/Generators.h"
#include "test/codegen/CPU/Convolution/ConvolutionKernels.h"

namespace dlc::test {

inline std::string refusalOf(const KernelSource &source, codegen::ConvolutionAlgorithm algorithm,
                             bool strict = false) {
  mlir::DialectRegistry registry;
  codegen::registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const std::string text = CompiledTestKernel::select(source, "cuda:sm_90", "").text;
  auto module = codegen::parseKernel(text, &context);
  codegen::CudaTarget target = llvm::cantFail(codegen::CudaTarget::get("sm_90"));
  target.settings.math = strict ? codegen::Math::Strict : codegen::Math::Float32;
  return codegen::cudaAlgorithmRefusal(*codegen::KernelSpec::get(codegen::kernelBlock(**module)),
                                       algorithm, target);
}

/// Of stride 2; of two groups; too large for indices that are ints.
struct RefusedShapes {
  inline static const ConvolutionShapes plain = {{2, 4, 9, 9}, {6, 4, 3, 3}, {2, 6, 9, 9},
                                                 {1, 1},       {1, 1, 1, 1}, {1, 1}};
  inline static const ConvolutionShapes strided = {{2, 4, 9, 9}, {6, 4, 3, 3}, {2, 6, 5, 5},
                                                   {2, 2},       {1, 1, 1, 1}, {1, 1}};
  inline static const ConvolutionShapes grouped = {
      {2, 4, 9, 9}, {6, 2, 3, 3}, {2, 6, 9, 9}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 2};
  inline static const ConvolutionShapes huge = {
      {512, 64, 224, 224}, {64, 64, 3, 3}, {512, 64, 224, 224}, {1, 1}, {1, 1, 1, 1}, {1, 1}};
};

} // namespace dlc::test

#endif
