// The order in which the SIMT device carries out the commands of a run: any that the plan's streams
// and events allow, chosen by a seed to bring missing events to light.
//
// A fair shuffle would hardly ever run one stream far ahead of another, which is what a missing
// event needs to be seen. So streams have random priorities, strictly obeyed, that change at a few
// random moments: probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010).
#ifndef DLC_RUNTIME_DEVICE_SIMT_SCHEDULE_H
#define DLC_RUNTIME_DEVICE_SIMT_SCHEDULE_H

#include <cstdint>
#include <random>
#include <vector>

namespace dlc::runtime {

/// One command, as far as its order matters.
struct OrderedCommand {
  uint32_t stream;
  /// The command that records the event waited for, or none.
  static constexpr size_t none = SIZE_MAX;
  size_t waitsFor = none;
};

/// A permutation of the commands' numbers in which each stream keeps its order and each command
/// stands behind the one that it waits for. A command waits for an earlier one only.
std::vector<size_t> adversarialOrder(const std::vector<OrderedCommand> &commands,
                                     std::mt19937_64 &random);

} // namespace dlc::runtime

#endif
