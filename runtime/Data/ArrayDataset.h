// Samples in the arrays of one file, which are called as the inputs of the model: safetensors or
// .npz. Sample i is part i of each array. Arrays called "test.NAME" hold the samples for tests.
#ifndef DLC_RUNTIME_DATA_ARRAYDATASET_H
#define DLC_RUNTIME_DATA_ARRAYDATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// For tests: whether the file has arrays for them. A file that cannot be read has all: to open it
/// says why.
bool hasArraySplit(const std::string &path, Split split);

/// For tests those arrays of the file that are meant for them; all others if there are none. Of
/// these the ones that inputs of `reader` take; without it all.
Result<std::shared_ptr<const Dataset>> openArrayDataset(const std::string &path, Split split,
                                                        const EntryInfo *reader);

} // namespace dlc::runtime

#endif
