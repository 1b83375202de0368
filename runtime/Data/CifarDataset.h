// CIFAR-10 and CIFAR-100 in their binary version: records of one label byte (CIFAR-100: of a coarse
// and a fine one) and 3 x 32 x 32 bytes of a picture.
#ifndef DLC_RUNTIME_DATA_CIFARDATASET_H
#define DLC_RUNTIME_DATA_CIFARDATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// The files of a split that may be there.
std::vector<std::string> cifarFiles(const std::string &folder, Split split);

/// Whether any of a split's files is there.
bool hasCifarSplit(const std::string &folder, Split split);

/// Pictures and labels of one split in a folder: data_batch_1.bin, ... (as many as are there) and
/// test_batch.bin of CIFAR-10, or train.bin and test.bin of CIFAR-100, whose label is the fine one.
Result<std::shared_ptr<const Dataset>> openCifarDataset(const std::string &folder, Split split);

} // namespace dlc::runtime

#endif
