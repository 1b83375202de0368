// Where a training run stands, and how a checkpoint's metadata says it.
#ifndef DLC_RUNTIME_TRAINING_PROGRESS_H
#define DLC_RUNTIME_TRAINING_PROGRESS_H

#include "dlc/checkpoint.h"
#include "dlc/train.h"

namespace dlc::runtime {

Metadata toMetadata(const TrainingProgress &progress);

/// Fails with Damaged if an entry is missing or is no number, or if they cannot all be true.
Result<TrainingProgress> progressFrom(const Metadata &metadata);

} // namespace dlc::runtime

#endif
