//===- KernelCompiler.h - from kernel regions to object files -----------------------*- C++ -*-===//
//
// Two steps, because the plan must be complete before any code exists, and because compilation is
// parallel and cached:
//
//   selectKernel    region -> how it will run: grid, workspace, symbol, key, cost figures. Fast;
//                   emits nothing.
//   compileKernels  texts of the selected kernels -> one relocatable object each, or for CUDA a
//                   cubin for each architecture and PTX; from the cache or compiled on all cores.
//   compileSimt     a CUDA target's kernels once more, as native code
//
// An object defines the symbols of its kernel's phases (selection.symbols) and no other global; it
// needs no symbol but memcpy and memset. The buffers of a launch: the spec's operands, its results,
// the workspace if workspaceBytes is not 0. A multi-tensor kernel takes flat buffers instead, see
// exec.kernel. All phases of a kernel take the same buffers and run one after the other.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_KERNELCOMPILER_H
#define DLC_CODEGEN_KERNEL_KERNELCOMPILER_H

#include "codegen/CUDA/Nvrtc.h"
#include "codegen/Kernel/KernelGenerator.h"

namespace dlc::codegen {

/// How a kernel will run, and who makes it.
struct SelectedKernel {
  const KernelGenerator *generator = nullptr;
  Candidate candidate;
  std::string text; ///< the spec's canonical text: what compileKernels compiles
  KernelKey key = {};
  std::string symbol;                        ///< <stem>_<first 8 hexadecimal digits of the key>
  llvm::SmallVector<std::string, 1> symbols; ///< of each phase
  uint64_t flops = 0, bytes = 0;
  /// A kernel with a library call: number of the kernel that computes the same without it.
  std::optional<size_t> alternative = std::nullopt;

  /// The phases that are launches: what an object or an image of the kernel has.
  llvm::SmallVector<unsigned> launches() const;
  /// 32 hexadecimal digits.
  std::string keyText() const;
};

/// A candidate, and who offers it.
struct GeneratedCandidate {
  const KernelGenerator *generator = nullptr;
  Candidate candidate;

  /// "library: cuDNN", "cpu-map: map"
  std::string name() const { return (generator->name() + ": " + candidate.schedule).str(); }
};
/// Every way to run `spec` on `target`, never empty for a valid spec: calls of libraries first, as
/// the user has asked for them, and of both kinds the cheapest.
std::vector<GeneratedCandidate> allCandidates(const KernelSpec &spec, const Target &target);

/// Analyses the region and takes the candidate with the name `chosen`, or the first one. Fails with
/// an error at the offending op.
mlir::FailureOr<SelectedKernel> selectKernel(mlir::Block &block, const Target &target,
                                             llvm::StringRef chosen = "");
/// For a choice with a library call the cheapest candidate without one; nothing for others.
std::optional<SelectedKernel> selectAlternative(mlir::Block &block, const Target &target,
                                                const SelectedKernel &choice);
/// The same for a choice already made (a plan's lock file, a benchmark).
SelectedKernel selectCandidate(const KernelSpec &spec, const Target &target,
                               const GeneratedCandidate &choice);

struct CompileOptions {
  bool cache = true;               ///< look up and keep objects
  std::string cacheFolder;         ///< empty: $XDG_CACHE_HOME/dlc/kernels or ~/.cache/dlc/kernels
  uint64_t cacheBytes = 256 << 20; ///< the cache is trimmed to this size, least recently used first
  unsigned threads = 0;            ///< 0: one a core
};

struct CompiledKernel {
  std::string object;              ///< CPU: ELF relocatable
  std::vector<KernelImage> images; ///< CUDA: a cubin for each architecture, then PTX
  bool fromCache = false;
  double seconds = 0; ///< spent on it
};

/// Compiles `kernels`, results in their order. Fails with one message that names the kernel. An
/// unreadable or unwritable cache, and damaged entries in it, are no errors: the kernel is
/// compiled.
llvm::Expected<std::vector<CompiledKernel>> compileKernels(llvm::ArrayRef<SelectedKernel> kernels,
                                                           const Target &target,
                                                           const CompileOptions &options = {});

/// The kernels of a CUDA target as relocatable objects for the SIMT device, several in each: one
/// dlc_kernel_fn a phase, named by simtSymbol. Needs a C++ compiler on this machine.
llvm::Expected<std::vector<std::string>> compileSimt(llvm::ArrayRef<SelectedKernel> kernels,
                                                     const CompileOptions &options = {});

/// For people: one CPU kernel as the generator emitted it, as LLVM IR, or as assembly.
enum class KernelForm { MLIR, LLVM, Assembly };
llvm::Expected<std::string> printKernel(const SelectedKernel &kernel, const CpuTarget &target,
                                        KernelForm form);
/// A CUDA kernel's text, skeletons included.
llvm::Expected<std::string> printCudaKernel(const SelectedKernel &kernel);

} // namespace dlc::codegen

#endif
