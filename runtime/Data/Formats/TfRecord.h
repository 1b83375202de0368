// TensorFlow's TFRecord files of tf.train.Example, as tensorflow/models writes ImageNet.
#ifndef DLC_RUNTIME_DATA_FORMATS_TFRECORD_H
#define DLC_RUNTIME_DATA_FORMATS_TFRECORD_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One split of the files that `path` names as Shards.h says; those of a folder have "tfrec" or
/// "-of-" in their names. A record has a picture in the feature image/encoded and a class in
/// image/class/label. Lengths are checked now, records when they are read.
Result<std::shared_ptr<const Dataset>> openTfRecord(const std::string &path, Split split,
                                                    const EntryInfo *reader);

bool hasTfRecordSplit(const std::string &path, Split split);

std::vector<std::string> tfRecordFiles(const std::string &path, Split split);

} // namespace dlc::runtime

#endif
