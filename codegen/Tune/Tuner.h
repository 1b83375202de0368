//===- Tuner.h - times the candidates of a model's kernels --------------------------*- C++ -*-===//
//
// dl-choose asks for the candidates of every kernel in every layout that may pay; each such kernel
// with several candidates is timed once, and the seconds take the place of the estimates. Chosen
// together with the layouts, they may make dl-choose ask for kernels that it did not ask for
// before: these are timed next, until it asks for none. Within a memory budget
// dl-divide-batch chooses anew as well: what it tries out and was not timed has its estimates, and
// a division that is the fastest when its kernels are timed is the one.
//
// Against noise: candidates run in turns, so that what slows the machine down slows all of them;
// the median decides, between candidates that are within a hundredth of each other the estimate.
// One whose fastest run is slower than the median of the best is out, and the last one left ends
// the kernel. Where candidates prepare an operand that is so with all that they run and without the
// preparing: which of both a model needs, dl-choose knows.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_TUNE_TUNER_H
#define DLC_CODEGEN_TUNE_TUNER_H

#include "codegen/Compile/KernelCache.h"
#include "codegen/Tune/LockFile.h"
#include "passes/Pipelines.h"

namespace dlc::codegen {

/// Runs kernels on a device. The tests have one that makes up its seconds.
class KernelTimer {
public:
  virtual ~KernelTimer() = default;
  /// "AMD EPYC 9B45, 2 threads": kernels take as long on equal machines.
  virtual std::string machine() const = 0;
  /// Of one core or one GPU: all phases, and those behind the preparation, if there is any.
  struct Seconds {
    double all, prepared;
  };
  using Run = std::function<llvm::Expected<Seconds>()>;
  /// Makes candidates of one kernel ready. The runs may be called until the next load.
  virtual llvm::Expected<std::vector<Run>> load(KernelSelector &selector,
                                                llvm::ArrayRef<SelectedKernel> candidates) = 0;
};

struct TuneOptions {
  bool cache = true;       ///< look up and keep what was measured, on this machine, in any model
  std::string cacheFolder; ///< see KernelCache
  unsigned rounds = 15;    ///< most runs of a candidate
  double seconds = 5;      ///< after which a kernel with three rounds is decided
  /// Hears which kernel is decided, of how many that are known so far; whether from the cache, and
  /// as the estimates would have had it.
  std::function<void(size_t done, size_t all, const TunedKernel &kernel, bool fromCache,
                     bool asEstimated)>
      progress;
  /// Told of, and may stand in for, what tries out divisions within a memory budget, which takes as
  /// long as to compile the model each time.
  std::function<dl::MemoryFitter(dl::MemoryFitter)> watchTrials;
};

/// `module`: dl behind addTrainPasses; it stays as it is. Diagnostics of passes go through its
/// context. Fails with one message.
llvm::Expected<LockFile> tuneModule(mlir::ModuleOp module,
                                    const std::shared_ptr<const Target> &target,
                                    const DLPipelineOptions &pipeline, KernelTimer &timer,
                                    const TuneOptions &options);

} // namespace dlc::codegen

#endif
