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
#include "codegen/Machine/Machine.h"
#include "dlc/abi.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <functional>
#include <memory>
#include <optional>
#include <variant>

namespace dlc::codegen {

using dl::ConvolutionAlgorithm;

/// How a CPU's convolutions may store images.
enum class ImageLayout {
  Heuristic, ///< what the cost model takes
  RowMajor,
  Blocks,       ///< nchw16c, of each convolution that has code for it
  ChannelsLast, ///< the same of nhwc16c
};

/// Whether each convolution that has code for the layout takes it.
inline bool isForced(ImageLayout layout) {
  return layout == ImageLayout::Blocks || layout == ImageLayout::ChannelsLast;
}

class Architecture;

/// The CPU to generate for.
struct CpuTarget {
  const Architecture *architecture = nullptr; ///< codegen/CPU/Architecture.h
  std::string cpu;                            ///< LLVM's name
  std::string features;                       ///< LLVM's feature string
  uint64_t required = 0;                      ///< bit set of dlc_cpu_feature that the code needs
  unsigned vectorBytes = 32; ///< of the vectors to use: 16 (NEON), 32 (AVX2) or 64 (AVX-512)
  unsigned vectorRegisters = 16;
  bool masksLanes = false; ///< loads and stores of some lanes cost no more than of all
  CpuMachine machine;      ///< how fast it is
  /// For each convolution that it can run and that asks for none itself.
  ConvolutionAlgorithm convolution = ConvolutionAlgorithm::Heuristic;
  ImageLayout layout = ImageLayout::Heuristic;
  /// No algorithm that errs more than sums of float32 in order do.
  bool strict = false;
  /// Bytes that a kernel may use besides its tensors, where one can that needs no more. Kernels
  /// take turns in this memory, so it is what all of a step needs.
  std::optional<uint64_t> workspaceLimit;

  /// "native", "avx2", "avx512", "neon" or LLVM's name of a processor that has AVX2 or NEON; fails
  /// with a message for anything else.
  static llvm::Expected<CpuTarget> get(llvm::StringRef name);
};

/// Whose code computes a product or a convolution on CUDA: the faster one's, by estimates.
enum class Provider { Faster, Library, Own };

/// One of cuDNN's engines.
struct LibraryEngine {
  std::vector<uint64_t> numbers; ///< engine, then pairs of knob and value
  uint64_t workspaceBytes = 0;   ///< that a call needs for it
};

/// The GPUs to generate for.
struct CudaTarget {
  /// 80 for sm_80: a cubin each, and PTX for the lowest; ascending. May be empty with `simt`.
  llvm::SmallVector<unsigned> architectures;
  bool simt = false; ///< the kernels once more as native code, for the SIMT device
  GpuMachine machine;
  Provider gemm = Provider::Library, convolution = Provider::Faster;
  /// What libraries may do to their operands. Our own kernels always compute in float32.
  dlc_math math = DLC_MATH_STRICT;
  /// For each convolution that our own kernels can run so and that asks for none itself: what
  /// cudaHasAlgorithm knows.
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Heuristic;
  /// Of our own kernels none that errs more than sums of float32 in order do.
  bool strict = false;
  /// Bytes of workspace that a call of cuDNN may have, and those of our own convolutions that need
  /// one for their operands; not set: 16 MiB for cuDNN, none for ours.
  std::optional<uint64_t> workspaceLimit;
  /// If set: cuDNN's engine for a convolution; nothing if it has none, which leaves the convolution
  /// to our own. Called by several threads.
  std::function<std::optional<LibraryEngine>(const dlc_library_call &call)> chooseEngine;

  /// Whether convolutions of `element` want their tensors with channels innermost. Tensor cores do;
  /// cuDNN's engines for strict float32 want them first, and turn others in a workspace of their
  /// size.
  bool wantsChannelsLast(mlir::Type element) const {
    return convolution != Provider::Own &&
           (element.isBF16() || element.isF16() || (element.isF32() && math == DLC_MATH_TF32));
  }

  /// "sm_80,sm_90,simt"; fails with a message for anything else.
  static llvm::Expected<CudaTarget> get(llvm::StringRef names);
};

/// Whether CUDA has kernels for the algorithm.
inline bool cudaHasAlgorithm(ConvolutionAlgorithm algorithm) {
  return algorithm != ConvolutionAlgorithm::Heuristic && algorithm != ConvolutionAlgorithm::Direct;
}

using Target = std::variant<CpuTarget, CudaTarget>;

/// "cpu", "cpu:znver4", "cuda" or "cuda:sm_80,simt"; fails with a message for anything else.
llvm::Expected<Target> getTarget(llvm::StringRef text);
/// The same, canonical: for reports.
std::string targetName(const Target &target);
/// CandidateSource::mostRowBytes.
int64_t mostRowBytes(const Target &target);

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
  std::vector<uint64_t> engine = {}; ///< see CudaTarget::chooseEngine
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

/// The text of a CUDA kernel, whose functions have no names yet. In front of it stand the headers
/// and skeletons that it names, in this order.
struct CudaText {
  /// A phase that is a launch: extern "C" __global__.
  struct Function {
    unsigned phase;
    uint32_t threads;       ///< of a block
    std::string head, tail; ///< what stands before the name and behind it
  };
  std::vector<std::string> headers; ///< NVIDIA's, for the types of bf16 and f16: "cuda_bf16.h"
  std::vector<std::string> skeletons;
  std::string problem;
  std::vector<std::string> parameters; ///< element types of the buffers: "const float"
  std::vector<Function> functions;
};

/// The first phases of a kernel that make all of its workspace out of one operand, and touch
/// nothing else; the phases behind them do not write the workspace, nor touch the operand. While
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
  uint64_t workspaceBytes = 0; ///< buffer shared by the phases; the launch's last argument if not 0
  /// A result may lie in the memory of an operand that it needs at the same places only.
  bool inPlace = true;
  double cost = 0; ///< estimated seconds on one core
  std::optional<Preparation> preparation = std::nullopt;
  /// Of a convolution on the CPU whose result has blocks of channels: into how many pieces its
  /// tasks divide the pixels of a channel. Of a product with totals behind it: its tasks.
  int64_t bandPieces = 0;
  /// Of a convolution on the CPU; on CUDA where it is one that cudaHasAlgorithm knows.
  std::optional<ConvolutionAlgorithm> algorithm = std::nullopt;
  /// Plain loops, for what no other generator takes.
  bool isSlow = false;
  float handicap = 0; ///< the part of `cost` that only keeps it behind all others
  llvm::json::Value parameters = nullptr; ///< the generator's own numbers, read back by emit
  std::shared_ptr<const CudaText> text = nullptr; ///< CUDA
};

/// What kernels of the anchor compute, for messages: "products".
llvm::StringRef pluralName(Anchor anchor);

/// Makes kernels for a family of anchors. Stateless: may be called from several threads.
class KernelGenerator {
public:
  virtual ~KernelGenerator() = default;
  virtual llvm::StringRef name() const = 0;
};

class CpuGenerator : public KernelGenerator {
public:
  /// Empty if the spec is not for this generator.
  virtual llvm::SmallVector<Candidate> candidates(const KernelSpec &spec,
                                                  const CpuTarget &target) const = 0;
  /// Emits into `module` one function `<symbol>` for a single phase, `<symbol>_<i>` for phase i of
  /// several, each of type dlc_kernel_fn: llvm-compatible after the common lowering of codegen/CPU.
  virtual mlir::LogicalResult emit(const KernelSpec &spec, const Candidate &candidate,
                                   const CpuTarget &target, llvm::StringRef symbol,
                                   mlir::ModuleOp module) const = 0;
};

class CudaGenerator : public KernelGenerator {
public:
  /// Empty if the spec is not for this generator.
  virtual llvm::SmallVector<Candidate> candidates(const KernelSpec &spec,
                                                  const CudaTarget &target) const = 0;
};

/// Phase i of several is <symbol>_<i>; the only one is <symbol>.
std::string phaseSymbol(llvm::StringRef symbol, size_t phases, unsigned phase);
inline std::string phaseSymbol(llvm::StringRef symbol, const Candidate &candidate, unsigned phase) {
  return phaseSymbol(symbol, candidate.phases.size(), phase);
}

} // namespace dlc::codegen

#endif
