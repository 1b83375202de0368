// How the numbers of datasets lie in a file: what a child process finds out, and how it hands it
// over.
#ifndef DLC_RUNTIME_DATA_HDF5_STORAGE_H
#define DLC_RUNTIME_DATA_HDF5_STORAGE_H

#include "runtime/Core/File.h"
#include "runtime/Data/Hdf5/Filters.h"
#include "runtime/Data/Hdf5/Plugin.h"

namespace dlc::runtime {

/// A chunk as it is stored: filter i was not applied where bit i of `skipped` is set.
struct StoredChunk {
  uint64_t offset;
  uint32_t bytes, skipped;
};

/// A dataset as the file has it.
struct TypedArray {
  std::string name;
  /// As StoredType calls it, "f4", or what else it is: "texts".
  std::string type;
  bool isBigEndian = false;
  std::vector<uint64_t> shape;
};

/// With its storage. What is no array of numbers, or has none, has no storage.
struct StoredDataset {
  TypedArray array;
  uint64_t elementBytes = 0;
  /// In one piece from here, unless it is in chunks or within the header.
  uint64_t offset = 0;
  std::string whole = {};
  /// Empty: in one piece. Chunks are in the order of their places in the grid, the last axis first.
  std::vector<uint64_t> chunk = {};
  std::vector<StoredChunk> chunks = {};
  std::vector<Hdf5Filter> filters = {};
  /// Of elements that are shuffled.
  uint64_t shuffledBytes = 1;

  bool hasNumbers() const;
  uint64_t bytes() const;
  uint64_t chunkBytes() const;
};

/// For messages: "FILE: dataset 'x'".
std::string placeOf(const File &file, std::string_view dataset);

/// For messages: "[2, 0]".
std::string indexText(const std::vector<uint64_t> &index);

/// The next index of a grid, the last axis first; false behind the last one.
bool advance(std::vector<uint64_t> &index, const std::vector<uint64_t> &extents);

/// Chunks along each axis.
std::vector<uint64_t> gridOf(const StoredDataset &dataset);

/// Fails with Damaged where a dataset claims what cannot be, or more than the file has. Chunks that
/// are there are looked at, and no others.
Status checkStorage(const StoredDataset &dataset, const File &file);

/// As a text of bytes, and from it: nothing where that is none.
void append(std::string &text, const StoredDataset &dataset);
bool take(std::string_view &text, StoredDataset &dataset);

} // namespace dlc::runtime

#endif
