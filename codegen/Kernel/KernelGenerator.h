//===- KernelGenerator.h - how a kernel is made -------------------------------------*- C++ -*-===//
//
// A generator offers candidates for a spec and emits the code of one. Candidates are data: a
// schedule as text, which together with the spec, the target and the compiler's sources is the
// kernel's identity, and what the plan must know (grid, scratch, workspace) before any code exists.
// Selection takes the cheapest by the cost model; emission happens once per key, in parallel, and
// its object is cached.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_KERNELGENERATOR_H
#define DLC_CODEGEN_KERNEL_KERNELGENERATOR_H

#include "codegen/Kernel/KernelSpec.h"
#include "dlc/abi.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <optional>

namespace dlc::codegen {

using dl::ConvolutionAlgorithm;

/// One of cuDNN's engines.
struct LibraryEngine {
  std::vector<uint64_t> numbers; ///< engine, then pairs of knob and value
  uint64_t workspaceBytes = 0;   ///< that a call needs for it
};

/// A piece of one of a kernel's buffers: operands, then results, then the workspace.
struct BufferPiece {
  unsigned buffer = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0; ///< 0: the whole buffer
};

/// A call of cuBLASLt or cuDNN, see abi.h. The first argument is the result; the last one, if the
/// call has a workspace, that.
struct LibraryCall {
  dlc_library_call call = {};
  llvm::SmallVector<BufferPiece> arguments;
  std::vector<uint64_t> engine = {}; ///< of cuDNN, where one is chosen
};

/// The most tasks of a launch that a module may have: those of a grid on CUDA.
inline constexpr uint64_t mostTasks = INT32_MAX;

/// One launch of a kernel: a grid of independent tasks. Phases run one after the other.
struct Phase {
  uint64_t tasks = 0;
  uint64_t scratchBytes = 0;                         ///< of one task
  uint32_t threads = 0;                              ///< CUDA: of a block; a task is a block
  std::shared_ptr<const LibraryCall> call = nullptr; ///< CUDA: instead of a launch
  /// What a phase beside the work itself reads and writes: packing, moving, adding parts. 0: the
  /// figures of the kernel are this phase's.
  uint64_t sideBytes = 0;
};

struct CudaText;

/// The first phases of a kernel that make all of its first workspace out of one operand, and touch
/// nothing else; the phases behind them do not write that workspace, nor touch the operand. While
/// the operand stays as it is they need not be repeated.
struct Preparation {
  unsigned operand = 0; ///< of the kernel
  unsigned phases = 1;
  std::string form;   ///< equal text and an equal operand: an equal workspace
  double seconds = 0; ///< part of the candidate's cost
};

/// One way to run a spec.
struct Candidate {
  std::string schedule; ///< complete and canonical: equal text, equal code
  llvm::SmallVector<Phase, 1> phases;
  /// Of the buffer that the phases share, and of one more that those behind a preparation share,
  /// whose own is the first: the launch's last arguments, as far as they are not 0.
  uint64_t workspaceBytes = 0, restBytes = 0;
  double cost = 0; ///< estimated seconds on one core
  std::optional<Preparation> preparation = std::nullopt;
  /// Of a convolution on the CPU whose result has blocks of channels: into how many pieces its
  /// tasks divide the pixels of a channel, some of which may be empty. Of a product with totals
  /// behind it: its tasks.
  int64_t bandPieces = 0;
  /// Of a convolution on the CPU; on CUDA where it is one that Target::hasAlgorithm knows.
  std::optional<ConvolutionAlgorithm> algorithm = std::nullopt;
  /// A result may lie in the memory of an operand that it needs at the same places only.
  bool inPlace = true;
  /// Plain loops, for what no other generator takes.
  bool isSlow = false;
  float handicap = 0; ///< the part of `cost` that only keeps it behind all others
  llvm::json::Value parameters = nullptr; ///< the generator's own numbers, read back by emit
  std::shared_ptr<const CudaText> text = nullptr; ///< codegen/CUDA/Text/CudaText.h

  uint64_t allWorkspaceBytes() const { return workspaceBytes + restBytes; }
};

/// What kernels of the anchor compute, for messages: "products".
llvm::StringRef pluralName(Anchor anchor);

/// Makes kernels for a family of anchors. Stateless: may be called from several threads.
class KernelGenerator {
public:
  virtual ~KernelGenerator() = default;
  virtual llvm::StringRef name() const = 0;
};

/// Phase i of several is <symbol>_<i>; the only one is <symbol>.
std::string phaseSymbol(llvm::StringRef symbol, size_t phases, unsigned phase);
inline std::string phaseSymbol(llvm::StringRef symbol, const Candidate &candidate, unsigned phase) {
  return phaseSymbol(symbol, candidate.phases.size(), phase);
}

} // namespace dlc::codegen

#endif
