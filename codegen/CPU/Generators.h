//===- Generators.h - the CPU's kernel generators -----------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_GENERATORS_H
#define DLC_CODEGEN_CPU_GENERATORS_H

#include "codegen/CPU/CpuTarget.h"

namespace dlc::codegen {

/// All generators for the CPU; they live as long as the process. Each new one is named in
/// Generators.cpp.
llvm::ArrayRef<const CpuGenerator *> cpuGenerators();

/// Whether the code that is made for the spec's anchor computes in its type: attention is of
/// float32, rows are of f32 and f64, what is scattered has 32 or 64 bits.
bool hasFastCode(const KernelSpec &spec);
/// Why the spec is left to the loops of last resort, or to none at all where those do not take it.
std::string cpuRefusal(const KernelSpec &spec);
/// Why `algorithm` is not offered for the spec, a convolution.
std::string convolutionRefusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm,
                               const CpuTarget &target);

std::unique_ptr<CpuGenerator> createMapGenerator();
std::unique_ptr<CpuGenerator> createReduceGenerator();
std::unique_ptr<CpuGenerator> createRowPassesGenerator();
std::unique_ptr<CpuGenerator> createWindowGenerator();
std::unique_ptr<CpuGenerator> createSlidingSumGenerator();
std::unique_ptr<CpuGenerator> createSampleGradientGenerator();
std::unique_ptr<CpuGenerator> createTransposeGenerator();
std::unique_ptr<CpuGenerator> createMultiTensorGenerator();
std::unique_ptr<CpuGenerator> createScatterGenerator();
std::unique_ptr<CpuGenerator> createSumRowsGenerator();
std::unique_ptr<CpuGenerator> createUpdateRowsGenerator();
std::unique_ptr<CpuGenerator> createAttentionGenerator();
std::unique_ptr<CpuGenerator> createGemmGenerator();
std::unique_ptr<CpuGenerator> createConvolutionGenerator();
std::unique_ptr<CpuGenerator> createPatchesGenerator();
std::unique_ptr<CpuGenerator> createDepthwiseGenerator();
std::unique_ptr<CpuGenerator> createWinogradGenerator();
std::unique_ptr<CpuGenerator> createFourierGenerator();
std::unique_ptr<CpuGenerator> createLoopsGenerator();

} // namespace dlc::codegen

#endif
