// Who watches whom. Up to 64 ranks rank 0 watches all others. Of more, the first rank of each
// machine watches those of its machine, and machines are watched in groups of 64, these in groups
// of 64, and so on, up to rank 0: nobody has many connections, and few go from machine to machine.
#ifndef DLC_RUNTIME_COLLECTIVES_WATCHTREE_H
#define DLC_RUNTIME_COLLECTIVES_WATCHTREE_H

#include <cstdint>
#include <span>
#include <vector>

namespace dlc::runtime {

inline constexpr unsigned mostWatched = 64;

/// Who watches each rank; rank 0 itself, whom nobody does. `nodes`: a number for each rank, the
/// same for those of one machine.
std::vector<unsigned> watchersOf(std::span<const uint64_t> nodes, unsigned most = mostWatched);

} // namespace dlc::runtime

#endif
