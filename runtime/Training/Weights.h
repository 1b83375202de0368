// The weights of a State as one block: parameters and statistics in the plan's order, row-major,
// each in its own type, one right behind the other.
//
// Threads: as State.
#ifndef DLC_RUNTIME_TRAINING_WEIGHTS_H
#define DLC_RUNTIME_TRAINING_WEIGHTS_H

#include "dlc/state.h"
#include "runtime/Collectives/Transport.h"

namespace dlc::runtime {

uint64_t weightsBytes(const Plan &plan);
/// Fail with InvalidArgument if the block has another size, or is seen to lie elsewhere.
Status readWeights(const State &state, std::span<std::byte> weights, Place place);
Status writeWeights(State &state, std::span<const std::byte> weights, Place place);

/// Makes them, but for whole numbers, their mean over the ranks, each counting `weight` times.
/// Fails on all ranks, and changes nothing, if a weight is negative or not finite, or if all are 0.
Status averageWeights(Transport &ranks, State &state, double weight);

} // namespace dlc::runtime

#endif
