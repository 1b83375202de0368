// Several ranks in one process, and sums whose bits do not depend on how many processes there are.
//
// Each virtual rank is a rank like any other, with a replica of its own, on a thread of its own. A
// sum is one binary tree over all of them: 0 + 1, 2 + 3, ..., then these in pairs. A process holds
// neighbours, as many as a subtree has: it adds up its own, the processes gather these sums, and
// each of them adds up the rest of the tree.
//
// Ownership: the transports share `outer`. Buffers are copied when a collective starts. Threads:
// each transport is used as any other; those of a process by different threads, as a collective
// ends only when all of them have started it. Failure: setReason() of one ends the waits of all.
#ifndef DLC_RUNTIME_COLLECTIVES_VIRTUALRANKS_H
#define DLC_RUNTIME_COLLECTIVES_VIRTUALRANKS_H

#include "runtime/Collectives/Transport.h"

namespace dlc::runtime {

/// Fails unless `total` is a power of two that `processes` divide.
Status checkVirtualRanks(uint64_t total, unsigned processes);

/// This process's share of `total` ranks, which checkVirtualRanks() has found right for `outer`.
std::vector<std::shared_ptr<Transport>> makeVirtualRanks(std::shared_ptr<Transport> outer,
                                                         unsigned total);

} // namespace dlc::runtime

#endif
