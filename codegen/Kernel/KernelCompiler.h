//===- KernelCompiler.h - from kernel regions to object files -----------------------*- C++ -*-===//
//
// The second of two steps, because the plan must be complete before any code exists, and because
// compilation is parallel and cached; KernelSelector is the first.
//
//   compileKernels  texts of the selected kernels -> a relocatable object each and those of the
//                   routines that it calls, or for CUDA a cubin for each architecture and PTX;
//                   from the cache or compiled on all cores.
//   compileSimt     a CUDA target's kernels once more, as native code
//
// An object defines the symbols of its kernel's phases (selection.symbols) and no other global; it
// needs no symbol but memcpy, memset and its routines. The buffers of a launch: the spec's
// operands, its results, the workspace if workspaceBytes is not 0. A multi-tensor kernel takes flat
// buffers instead, see exec.kernel. All phases of a kernel take the same buffers and run one after
// the other.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_KERNELCOMPILER_H
#define DLC_CODEGEN_KERNEL_KERNELCOMPILER_H

#include "codegen/CUDA/Nvrtc.h"
#include "codegen/Kernel/KernelSelector.h"

namespace dlc::codegen {

struct CompileOptions {
  bool cache = true;               ///< look up and keep objects
  std::string cacheFolder;         ///< empty: $XDG_CACHE_HOME/dlc/kernels or ~/.cache/dlc/kernels
  uint64_t cacheBytes = 256 << 20; ///< the cache is trimmed to this size, least recently used first
  unsigned threads = 0;            ///< 0: one a core
};

struct CompiledKernel {
  /// CPU: ELF relocatable files, the kernel's own first. Those of routines (Routines.h) stand with
  /// each kernel that calls them.
  std::vector<std::string> objects;
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
std::string printCudaKernel(const SelectedKernel &kernel);

} // namespace dlc::codegen

#endif
