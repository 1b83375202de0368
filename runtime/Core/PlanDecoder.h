// The second step from blob to Plan: gives every number its meaning and refuses what has none. What
// a Plan holds is checked here (names, types, variables, scalars, entries, metrics, steps) and in
// PlanChecker (records and their buffers).
#ifndef DLC_RUNTIME_CORE_PLANDECODER_H
#define DLC_RUNTIME_CORE_PLANDECODER_H

#include "dlc/plan.h"
#include "dlc/status.h"

namespace dlc::runtime {

/// Bytes of the largest tensor, state, arena or scratch that a plan may ask for: no machine has
/// more, and below this no sum of two sizes overflows.
inline constexpr uint64_t largestSpace = uint64_t(1) << 46;

/// Decodes and checks a whole blob. Names in the Plan view the blob. Messages are without the
/// file's name.
Result<Plan> decodePlan(std::span<const std::byte> blob);

/// Checks the records of all entries against arenas, state, inputs, constants, kernels and events.
/// Called by decodePlan.
Status checkRecords(const Plan &plan);

/// Checks one buffer for an entry: space, alignment, bounds, access. Called by decodePlan for
/// values, by checkRecords for arguments.
Status checkArgument(const Plan &plan, const EntryInfo &entry, const dlc_argument &argument);

} // namespace dlc::runtime

#endif
