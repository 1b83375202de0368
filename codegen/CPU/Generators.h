//===- Generators.h - the CPU's kernel generators -----------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_GENERATORS_H
#define DLC_CODEGEN_CPU_GENERATORS_H

#include "codegen/Kernel/KernelGenerator.h"

namespace dlc::codegen {

/// All generators for the CPU; they live as long as the process. Each new one is named in
/// Generators.cpp.
llvm::ArrayRef<const KernelGenerator *> cpuGenerators();

std::unique_ptr<KernelGenerator> createMapGenerator();
std::unique_ptr<KernelGenerator> createReduceGenerator();
std::unique_ptr<KernelGenerator> createWindowGenerator();
std::unique_ptr<KernelGenerator> createSoftmaxGenerator();
std::unique_ptr<KernelGenerator> createTransposeGenerator();
std::unique_ptr<KernelGenerator> createMultiTensorGenerator();
std::unique_ptr<KernelGenerator> createGemmGenerator();
std::unique_ptr<KernelGenerator> createConvolutionGenerator();
std::unique_ptr<KernelGenerator> createLoopsGenerator();

} // namespace dlc::codegen

#endif
