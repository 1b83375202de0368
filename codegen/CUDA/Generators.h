//===- Generators.h - CUDA's kernel generators --------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_GENERATORS_H
#define DLC_CODEGEN_CUDA_GENERATORS_H

#include "codegen/CUDA/CudaTarget.h"
#include "codegen/CUDA/Text/KernelText.h"

namespace dlc::codegen {

class TileProductGenerator;

/// All generators for CUDA; they live as long as the process. Each new one is named in
/// Generators.cpp.
llvm::ArrayRef<const CudaGenerator *> cudaGenerators();

std::unique_ptr<CudaGenerator> createCudaMapGenerator();
std::unique_ptr<CudaGenerator> createCudaReduceGenerator();
std::unique_ptr<CudaGenerator> createCudaRowPassesGenerator();
std::unique_ptr<CudaGenerator> createCudaWindowGenerator();
std::unique_ptr<CudaGenerator> createCudaSlidingSumGenerator();
std::unique_ptr<CudaGenerator> createCudaTransposeGenerator();
std::unique_ptr<CudaGenerator> createCudaMultiTensorGenerator();
std::unique_ptr<CudaGenerator> createCudaSumRowsGenerator();
std::unique_ptr<CudaGenerator> createCudaUpdateRowsGenerator();
std::unique_ptr<CudaGenerator> createCudaAttentionGenerator();
std::unique_ptr<CudaGenerator> createCudaProductGenerator();
std::unique_ptr<TileProductGenerator> createCudaWinogradGenerator();
std::unique_ptr<TileProductGenerator> createCudaFourierGenerator();
std::unique_ptr<TileProductGenerator> createCudaPatchesGenerator();
std::unique_ptr<CudaGenerator> createLibraryGenerator();
std::unique_ptr<CudaGenerator> createCudaElementsGenerator();

/// Whether CUDA kernels know the types of all operands and results, and can number the elements of
/// these and of all that is computed between them.
bool fitsCuda(const KernelSpec &spec);
/// Why the spec is left to the code of last resort, or to none at all where that does not take it.
std::string cudaRefusal(const KernelSpec &spec);

/// Whether a library computes the anchor, if its operands stand in memory, and only then. What a
/// convolution reads is brought into the library's order anyway, and computed on that way.
bool libraryReadsStored(dl::AnchorOp anchor, const CudaTarget &target);

/// Why an algorithm that CudaTarget::hasAlgorithm knows is not offered for the spec, a convolution,
/// within any workspace.
std::string cudaAlgorithmRefusal(const KernelSpec &spec, ConvolutionAlgorithm algorithm,
                                 const CudaTarget &target);

/// Blocks of a grid over `elements`.
inline uint64_t blocksFor(int64_t elements, int64_t perBlock) {
  return std::max<int64_t>(1, llvm::divideCeil(elements, perBlock));
}

/// Operations that a thread spends on each element of an anchor's operand beside loading it: none
/// where the operand stands in memory.
double readingOperations(mlir::Value operand);
/// The same on each element of the anchor's result, beside storing it: on what stands behind the
/// anchor, and in front of reductions behind that.
double finishingOperations(const KernelSpec &spec);
/// Bytes that the SIMT device needs to run a block.
uint64_t simtScratchBytes(uint32_t threads);

/// A generator whose text says everything: candidates are tried by printing them, once.
class TextGenerator : public CudaGenerator {
public:
  llvm::SmallVector<Candidate> candidates(const KernelSpec &spec,
                                          const CudaTarget &target) const override;

protected:
  /// Schedules worth trying: phases' tasks, workspace, cost and parameters are set, threads are
  /// taken from the text.
  virtual llvm::SmallVector<Candidate> schedules(const KernelSpec &spec,
                                                 const CudaTarget &target) const = 0;
  /// Writes the kernel. Fails for what this generator does not take.
  virtual mlir::FailureOr<KernelText> write(const KernelSpec &spec,
                                            const Candidate &candidate) const = 0;
};

} // namespace dlc::codegen

#endif
