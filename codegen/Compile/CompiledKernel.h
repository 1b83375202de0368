//===- CompiledKernel.h - kernels as they are chosen, and what becomes of them ------*- C++ -*-===//
#ifndef DLC_CODEGEN_COMPILE_COMPILEDKERNEL_H
#define DLC_CODEGEN_COMPILE_COMPILEDKERNEL_H

#include "codegen/Kernel/KernelGenerator.h"
#include "llvm/Support/Error.h"

namespace dlc::codegen {

/// A candidate, and who offers it.
struct GeneratedCandidate {
  const KernelGenerator *generator = nullptr;
  Candidate candidate;
  bool pinned = false;         ///< the one that a measurement has chosen
  bool pinnedPrepared = false; ///< that where what it prepares is there already

  /// "library: cuDNN", "cpu-map: map"
  std::string name() const { return (generator->name() + ": " + candidate.schedule).str(); }
  bool isOf(program::CandidateAttr chosen) const {
    return chosen.isCode(generator->name(), candidate.schedule);
  }
};

/// How a kernel will run, and who makes it.
struct SelectedKernel {
  const KernelGenerator *generator = nullptr;
  Candidate candidate;
  std::string text; ///< the spec's canonical text
  std::string code; ///< what is compiled: KernelOffer::code
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

  /// As it stands on a region or kernel that runs so.
  program::CandidateAttr asAttr(mlir::MLIRContext *context) const;
};

struct CompileOptions {
  bool cache = true;               ///< look up and keep objects
  std::string cacheFolder;         ///< empty: $XDG_CACHE_HOME/dlc/kernels or ~/.cache/dlc/kernels
  uint64_t cacheBytes = 256 << 20; ///< the cache is trimmed to this size, least recently used first
  unsigned threads = 0;            ///< 0: one a core
};

/// What a function of an image needs.
struct FunctionFigures {
  uint32_t registers = 0, spillBytes = 0, sharedBytes = 0;
};

/// A GPU's code of one kernel for one architecture.
struct KernelImage {
  dlc_image_kind kind = DLC_IMAGE_CUBIN;
  unsigned architecture = 0; ///< 80 for sm_80
  std::string bytes;
  std::vector<FunctionFigures> figures; ///< of each phase; cubins only

  /// As the cache keeps it.
  std::string serialise() const;
  static std::optional<KernelImage> deserialise(llvm::StringRef text);
};

/// Objects define the symbols of their kernel's phases (SelectedKernel::symbols) and no other
/// global; they need no symbol but memcpy, memset and routines. The buffers of a launch: the spec's
/// operands, its results, the candidate's workspaces. A multi-tensor kernel takes
/// flat buffers instead, see exec.kernel. All phases of a kernel take the same buffers and run one
/// after the other.
struct CompiledKernel {
  /// CPU: ELF relocatable files, the kernel's own first. Those of routines stand with each kernel
  /// that calls them.
  std::vector<std::string> objects;
  std::vector<KernelImage> images; ///< CUDA: a cubin for each architecture, then PTX
  bool fromCache = false;
  double seconds = 0; ///< spent on it
};

/// For people. MLIR, LLVM, Assembly: native code, as its generator emitted it and behind that.
/// Source, PTX: a GPU's.
enum class KernelForm { MLIR, LLVM, Assembly, Source, PTX };

} // namespace dlc::codegen

#endif
