// Where a training run stands, and how a checkpoint's metadata says it.
#ifndef DLC_RUNTIME_TRAINING_PROGRESS_H
#define DLC_RUNTIME_TRAINING_PROGRESS_H

#include "dlc/checkpoint.h"

namespace dlc::runtime {

struct TrainingProgress {
  uint64_t seed = 0;
  /// Batches trained on since the run began.
  uint64_t step = 0;
  /// Epochs completed, and batches done in the current one.
  uint64_t epoch = 0, position = 0;
};

Metadata toMetadata(const TrainingProgress &progress);

/// Fails with Damaged if an entry is missing or is no number, or if they cannot all be true.
Result<TrainingProgress> progressFrom(const Metadata &metadata);

} // namespace dlc::runtime

#endif
