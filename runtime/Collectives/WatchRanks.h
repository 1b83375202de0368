// Makes the tree of watches of the ranks of a transport.
#ifndef DLC_RUNTIME_COLLECTIVES_WATCHRANKS_H
#define DLC_RUNTIME_COLLECTIVES_WATCHRANKS_H

#include "runtime/Collectives/Transport.h"
#include "runtime/Collectives/Watch.h"

#include <memory>

namespace dlc::runtime {

/// The watch of this rank, connected to those of others; all ranks call it, each with the number of
/// its node. Null on all of them where one of them cannot have its connections: rank 0 warns of it,
/// and they go on unwatched. Fails where a collective does. Of `options` rank, ranks and places are
/// filled in.
Result<std::unique_ptr<Watch>> watchRanks(Transport &ranks, WatchOptions options, uint64_t node);

} // namespace dlc::runtime

#endif
