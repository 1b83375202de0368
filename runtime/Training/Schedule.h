// The factor on the learning rates, as a function of the batches trained on.
#ifndef DLC_RUNTIME_TRAINING_SCHEDULE_H
#define DLC_RUNTIME_TRAINING_SCHEDULE_H

#include "dlc/abi.h"

#include <cstdint>
#include <span>

namespace dlc::runtime {

/// The factor for the batch after `step` others, where an epoch has `epochSteps` batches. The parts
/// are those of dlc_step.schedule; none: 1. With `steps` as unit each curve is that of PyTorch's
/// scheduler of the same name, stepped once a batch.
double scheduleFactor(std::span<const dlc_schedule_part> parts, uint64_t step, uint64_t epochSteps);

} // namespace dlc::runtime

#endif
