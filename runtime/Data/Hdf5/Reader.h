// Datasets of HDF5 files, read sample by sample. Part of libdlc_hdf5.so.
#ifndef DLC_RUNTIME_DATA_HDF5_READER_H
#define DLC_RUNTIME_DATA_HDF5_READER_H

#include "runtime/Data/Hdf5/Plugin.h"

namespace dlc::runtime {

/// What Hdf5Plugin says.
Result<std::vector<std::string>> namesInHdf5(const std::string &path);
Result<std::unique_ptr<const Hdf5Reader>>
openHdf5(const std::string &path, const std::function<bool(std::string_view)> &wanted);

} // namespace dlc::runtime

#endif
