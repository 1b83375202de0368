// Datasets of an HDF5 file as h5py writes them, which are called as the inputs of the model, as
// ArrayDataset.h says of arrays; groups "train" and "test" have those of a split. Samples are read
// one by one.
#ifndef DLC_RUNTIME_DATA_FORMATS_HDF5DATASET_H
#define DLC_RUNTIME_DATA_FORMATS_HDF5DATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// As hasArraySplit().
bool hasHdf5Split(const std::string &path, Split split);

/// As openArrayDataset(). Fails with Unsupported where libdlc_hdf5.so is not there.
Result<std::shared_ptr<const Dataset>> openHdf5Dataset(const std::string &path, Split split,
                                                       const EntryInfo *reader);

} // namespace dlc::runtime

#endif
