// Reads samples of datasets whose places in the file are known, without libhdf5: by any number of
// threads at once.
#include "runtime/Data/Hdf5/Reader.h"
#include "dlc/plan.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Hdf5/ChunkCache.h"
#include "runtime/Data/Hdf5/Inspect.h"
#include "runtime/Data/StoredNumbers.h"

#include <cstring>

namespace dlc::runtime {
namespace {

class Reader : public Hdf5Reader {
public:
  Reader(File file, std::vector<StoredDataset> datasets)
      : file(std::move(file)), datasets(std::move(datasets)) {
    for (const StoredDataset &dataset : this->datasets) {
      types.push_back(findStoredType(dataset.array.type));
      arrayList.push_back({dataset.array.name, types.back()->dtype, dataset.array.shape});
    }
  }
  const std::vector<Hdf5Array> &arrays() const override { return arrayList; }

  Status read(size_t array, uint64_t index, std::span<std::byte> sample) const override {
    const StoredType &type = *types[array];
    if (!type.widen)
      return readStored(array, index, sample);
    std::vector<std::byte> stored(sample.size() / dtypeSize(type.dtype) * type.bytes);
    DLC_TRY(readStored(array, index, stored));
    std::ranges::copy(type.widen(stored), sample.begin());
    return {};
  }

private:
  using Index = std::vector<uint64_t>;

  /// As the file has it, but in this machine's byte order.
  Status readStored(size_t array, uint64_t index, std::span<std::byte> stored) const {
    DLC_TRY(readBytes(array, index, stored));
    if (datasets[array].array.isBigEndian)
      swapBytes(stored, types[array]->bytes);
    return {};
  }

  Status readBytes(size_t array, uint64_t index, std::span<std::byte> stored) const {
    const StoredDataset &dataset = datasets[array];
    if (!dataset.chunk.empty())
      return readChunks(array, index, stored);
    const uint64_t at = index * stored.size();
    if (dataset.whole.empty())
      return file.readAt(dataset.offset + at, stored);
    std::memcpy(stored.data(), dataset.whole.data() + at, stored.size());
    return {};
  }

  Status readChunks(size_t array, uint64_t sample, std::span<std::byte> stored) const {
    const StoredDataset &dataset = datasets[array];
    Index grid = gridOf(dataset), place(grid.size());
    uint64_t each = 1;
    for (size_t axis = 1; axis < grid.size(); ++axis)
      each *= grid[axis];
    uint64_t number = sample / dataset.chunk[0] * each;
    grid[0] = 1;
    do {
      DLC_TRY_ASSIGN(chunk, chunkAt(array, number++));
      copyPart(dataset, sample % dataset.chunk[0], place, *chunk, stored);
    } while (advance(place, grid));
    return {};
  }

  /// What a chunk at a place of the grid has of a sample, which is its part `inner`, row by row.
  static void copyPart(const StoredDataset &dataset, uint64_t inner, const Index &place,
                       const std::vector<std::byte> &chunk, std::span<std::byte> stored) {
    const Index &shape = dataset.array.shape;
    Index part = {1};
    for (size_t axis = 1; axis < shape.size(); ++axis)
      part.push_back(
          std::min(dataset.chunk[axis], shape[axis] - place[axis] * dataset.chunk[axis]));
    uint64_t row = dataset.elementBytes;
    if (part.size() > 1)
      row *= std::exchange(part.back(), 1);
    Index index(part.size());
    do {
      uint64_t from = inner, to = 0;
      for (size_t axis = 1; axis < shape.size(); ++axis) {
        from = from * dataset.chunk[axis] + index[axis];
        to = to * shape[axis] + place[axis] * dataset.chunk[axis] + index[axis];
      }
      std::memcpy(stored.data() + to * dataset.elementBytes,
                  chunk.data() + from * dataset.elementBytes, row);
    } while (advance(index, part));
  }

  Result<Hdf5Chunk> chunkAt(size_t array, uint64_t number) const {
    const ChunkKey key = {array, number};
    if (Hdf5Chunk found = chunks.find(key))
      return found;
    const StoredDataset &dataset = datasets[array];
    const StoredChunk &stored = dataset.chunks[number];
    std::vector<std::byte> bytes(stored.bytes);
    DLC_TRY(file.readAt(stored.offset, bytes));
    DLC_TRY_IN(undoFilters(dataset.filters, stored.skipped, dataset.chunkBytes(),
                           dataset.shuffledBytes, bytes),
               placeOf(file, dataset.array.name), ": chunk ", number);
    auto chunk = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    chunks.add(key, chunk);
    return chunk;
  }

  File file;
  std::vector<StoredDataset> datasets;
  std::vector<const StoredType *> types;
  std::vector<Hdf5Array> arrayList;
  mutable ChunkCache chunks;
};

/// Whether a dataset is one of numbers that are read, and all of it is known.
Status checkDataset(const StoredDataset &dataset, const File &file) {
  const StoredType *type = findStoredType(dataset.array.type);
  if (!type) {
    std::string known;
    for (const StoredType &each : storedTypes())
      addItem(known, each.name);
    return unsupported(file.path(), ": elements of dataset '", excerpt(dataset.array.name),
                       "' are ", dataset.array.type, ", expected one of ", known,
                       " in either byte order");
  }
  uint64_t chunks = 1;
  for (uint64_t along : gridOf(dataset))
    chunks *= along;
  const bool isWhole =
      !dataset.hasNumbers() || dataset.chunk.empty() || dataset.chunks.size() == chunks;
  if (type->bytes != dataset.elementBytes || !isWhole)
    return damaged(placeOf(file, dataset.array.name), ": is damaged");
  return {};
}

} // namespace

Result<std::vector<std::string>> namesInHdf5(const std::string &path) {
  return guarded([&]() -> Result<std::vector<std::string>> {
    DLC_TRY_ASSIGN(file, File::openForReading(path));
    return namesInHdf5(file);
  });
}

Result<std::unique_ptr<const Hdf5Reader>>
openHdf5(const std::string &path, const std::function<bool(std::string_view)> &wanted) {
  return guarded([&]() -> Result<std::unique_ptr<const Hdf5Reader>> {
    DLC_TRY_ASSIGN(file, File::openForReading(path));
    DLC_TRY_ASSIGN(datasets, inspectHdf5(file, wanted));
    for (const StoredDataset &dataset : datasets)
      DLC_TRY(checkDataset(dataset, file));
    return std::unique_ptr<const Hdf5Reader>(
        std::make_unique<Reader>(std::move(file), std::move(datasets)));
  });
}

} // namespace dlc::runtime
