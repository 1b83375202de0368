// What a chunk of a dataset has gone through in front of the file, undone.
#ifndef DLC_RUNTIME_DATA_HDF5_FILTERS_H
#define DLC_RUNTIME_DATA_HDF5_FILTERS_H

#include "dlc/status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlc::runtime {

enum class Hdf5Filter : uint8_t { Shuffle, Deflate, Fletcher32 };

/// Turns a chunk as it is stored into its `bytes` bytes. `filters` are in the order in which they
/// were applied, but for those whose bit in `skipped` is set; elements have `elementBytes` bytes.
/// Takes no more memory than what is stored can become. Fails with Damaged.
Status undoFilters(const std::vector<Hdf5Filter> &filters, uint32_t skipped, uint64_t bytes,
                   uint64_t elementBytes, std::vector<std::byte> &chunk);

} // namespace dlc::runtime

#endif
