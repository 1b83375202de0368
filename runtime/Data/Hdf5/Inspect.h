// What a file has in it, by libhdf5 in a child process.
#ifndef DLC_RUNTIME_DATA_HDF5_INSPECT_H
#define DLC_RUNTIME_DATA_HDF5_INSPECT_H

#include "runtime/Data/Hdf5/Storage.h"

namespace dlc::runtime {

/// The names of all datasets; and those that are `wanted`, with all that is needed to read them.
Result<std::vector<std::string>> namesInHdf5(const File &file);
Result<std::vector<StoredDataset>> inspectHdf5(const File &file,
                                               const std::function<bool(std::string_view)> &wanted);

} // namespace dlc::runtime

#endif
