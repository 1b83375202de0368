// IDX files (the format of MNIST), plain or gzip: a magic number with element type and rank,
// big-endian extents, elements.
#ifndef DLC_RUNTIME_DATA_IDXDATASET_H
#define DLC_RUNTIME_DATA_IDXDATASET_H

#include "runtime/Data/Dataset.h"
#include "runtime/Data/StoredNumbers.h"

namespace dlc::runtime {

/// The content of one IDX file, as elements of `type->dtype`.
struct IdxFile {
  const StoredType *type = nullptr;
  std::vector<uint64_t> shape;
  std::vector<std::byte> data;
};

/// Reads a whole file. Damage of any kind is one error that names the file.
Result<IdxFile> readIdxFile(const std::string &path);

/// The files of a split that may be there.
std::vector<std::string> idxFiles(const std::string &folder, Split split);

/// Whether any of a split's files is there.
bool hasIdxSplit(const std::string &folder, Split split);

/// Images and labels of one split in a folder: train-images-idx3-ubyte, train-labels-idx1-ubyte,
/// t10k-..., each plain or with .gz.
Result<std::shared_ptr<const Dataset>> openIdxDataset(const std::string &folder, Split split);

} // namespace dlc::runtime

#endif
