//===- Pipelines.h - the order of all passes ----------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_PIPELINES_H
#define DLC_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "passes/DL/Passes.h"
#include "passes/Exec/Passes.h"
#include <string>
#include <vector>

namespace dlc {

/// What the user may ask of the passes on the dl dialect.
struct DLPipelineOptions {
  /// The gradient of every float input stays a result of the training entries.
  bool keepInputGradients = false;
  /// The gradients of updated variables stay results, too.
  bool keepWeightGradients = false;
  /// Flags of improving passes to leave out, see improvingPasses().
  std::vector<std::string> disable = {};
  /// What the target's generators offer. Without one, everything stays row-major, and no code is
  /// chosen yet.
  std::shared_ptr<dl::CandidateSource> candidates = nullptr;
  /// Whether values are computed again where they would lie in memory for long, and which.
  enum class Recompute { None, Cheap, Any } recompute = Recompute::None;
  /// The most bytes that an entry may need, state included; 0: no limit.
  int64_t memoryBudget = 0;
  /// Whether a budget is given up without a search where it is out of reach by a bound.
  bool refuseEarly = false;
  /// What an entry needs, for dl-rematerialize.
  dl::MemoryPlanner memoryPlanner = nullptr;
  /// What comes of the passes behind dl-divide-batch; null where nothing is to be divided.
  dl::MemoryFitter memoryFitter = nullptr;
  /// Large gradients are summed over ranks in bf16 or f16; empty: as they are.
  std::string compress = "";
  /// What dl-bucket-gradients takes for the network between ranks.
  dl::BucketGradientsOptions buckets = {};
};

/// Flags of the passes that only improve: without any of them the program computes the same.
llvm::ArrayRef<llvm::StringRef> improvingPasses();

/// From the frontend's entries to training steps with gradients and updates: `--emit=dl-train`.
void addTrainPasses(mlir::OpPassManager &manager, const DLPipelineOptions &options);

/// From there to one region a kernel, in order of execution: `--emit=dl-fused`.
void addFusionPasses(mlir::OpPassManager &manager, const DLPipelineOptions &options);

/// Those behind dl-divide-batch, which runs them on copies to see what fits.
void addRegionPasses(mlir::OpPassManager &manager, const DLPipelineOptions &options);

/// The last of those passes, which changes what memory is needed: reductions over ranks in buckets.
void addBucketPasses(mlir::OpPassManager &manager, const DLPipelineOptions &options);

/// From regions to kernels and buffers: `--emit=exec` shows the state after this, kernel selection
/// and addPlanPasses.
void addConversionPasses(mlir::OpPassManager &manager);

/// Streams, events, memory and the proof that all of it is ordered. Behind kernel selection.
void addPlanPasses(mlir::OpPassManager &manager, const DLPipelineOptions &options,
                   const exec::ScheduleStreamsOptions &streams);
/// The part of these that may run again with another number of streams.
void addStreamPasses(mlir::OpPassManager &manager, const DLPipelineOptions &options,
                     const exec::ScheduleStreamsOptions &streams);

/// Makes `dl-pipeline` and `exec-pipeline` known to dlc-opt, and the passes that ask for
/// candidates, `dl-choose` and `dl-join`.
void registerPipelines(dl::CandidateSources sources);

} // namespace dlc

#endif
