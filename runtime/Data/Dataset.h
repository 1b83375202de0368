// Which files `data` of a run stands for.
#ifndef DLC_RUNTIME_DATA_DATASET_H
#define DLC_RUNTIME_DATA_DATASET_H

#include "dlc/data.h"

namespace dlc::runtime {

/// Bytes of a field of one sample.
uint64_t sampleBytes(const DatasetField &field);

/// A field of one sample: where it lies, or read into `room`.
Result<const std::byte *> sampleAt(const Dataset &dataset, uint64_t index, size_t field,
                                   std::vector<std::byte> &room);

/// Whether a field of all samples, or all of them, lie in memory, where they may be looked at
/// before the first batch.
bool isInMemory(const Dataset &dataset, size_t field);
bool isInMemory(const Dataset &dataset);

/// The formats that a description may begin with, as "idx:".
std::vector<std::string_view> dataFormats();

/// Whether what a description names is read as the inputs of an entry are: pictures, which have as
/// many channels, and tables, whose columns are called as inputs.
bool followsReader(const std::string &description);

/// Whether any of a split's files is there, whatever is in it.
bool hasSplit(const std::string &description, Split split);

/// Where the test data of what `--data` says would be: "files t10k-images-idx3-ubyte, ...".
std::string_view testDataText(const std::string &description);

/// The files of what `--data` says, for both splits, there or not; none of a wrong description.
std::vector<std::string> dataFiles(const std::string &description);

} // namespace dlc::runtime

#endif
