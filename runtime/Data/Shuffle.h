// The order of samples in an epoch: a function of seed and epoch only.
#ifndef DLC_RUNTIME_DATA_SHUFFLE_H
#define DLC_RUNTIME_DATA_SHUFFLE_H

#include <cstdint>
#include <vector>

namespace dlc::runtime {

/// A permutation of 0 .. count - 1 (Fisher-Yates on Philox).
std::vector<uint32_t> shuffledOrder(uint32_t count, uint64_t seed, uint32_t epoch);

} // namespace dlc::runtime

#endif
