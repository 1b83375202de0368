// Checks, and bytes.
#include "runtime/Data/Hdf5/Storage.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"

#include <cstring>

namespace dlc::runtime {

bool StoredDataset::hasNumbers() const {
  return array.type.size() == 2 && !array.shape.empty() && bytes() > 0;
}
uint64_t StoredDataset::bytes() const {
  return checkedElementCount(array.shape).value_or(0) * elementBytes;
}
uint64_t StoredDataset::chunkBytes() const {
  return checkedElementCount(chunk).value_or(0) * elementBytes;
}

std::string placeOf(const File &file, std::string_view dataset) {
  return concat(file.path(), ": dataset '", excerpt(dataset), "'");
}

std::string indexText(const std::vector<uint64_t> &index) {
  std::string text;
  for (uint64_t each : index)
    addItem(text, concat(each));
  return concat("[", text, "]");
}

bool advance(std::vector<uint64_t> &index, const std::vector<uint64_t> &extents) {
  for (size_t axis = index.size(); axis-- > 0;) {
    if (++index[axis] < extents[axis])
      return true;
    index[axis] = 0;
  }
  return false;
}

std::vector<uint64_t> gridOf(const StoredDataset &dataset) {
  std::vector<uint64_t> grid;
  for (size_t axis = 0; axis < dataset.chunk.size(); ++axis)
    grid.push_back((dataset.array.shape[axis] - 1) / dataset.chunk[axis] + 1);
  return grid;
}

Status checkStorage(const StoredDataset &dataset, const File &file) {
  const std::string place = placeOf(file, dataset.array.name);
  constexpr uint64_t mostElementBytes = 64;
  const std::vector<uint64_t> &shape = dataset.array.shape, &chunk = dataset.chunk;
  if (shape.size() > DLC_MAX_RANK || !checkedElementCount(shape))
    return damaged(place, ": claims ", indexText(shape), " elements");
  if (!dataset.hasNumbers())
    return {};
  if (dataset.elementBytes > mostElementBytes)
    return damaged(place, ": claims elements of ", dataset.elementBytes, " bytes");
  if (chunk.empty() && !dataset.whole.empty())
    return dataset.whole.size() == dataset.bytes()
               ? Status()
               : damaged(place, ": claims ", dataset.bytes(), " bytes");
  if (chunk.empty())
    return fits(dataset.offset, dataset.bytes(), file.size())
               ? Status()
               : damaged(place, ": ends behind the end of the file: is it whole?");
  const auto count = checkedElementCount(chunk);
  if (chunk.size() != shape.size() || !count || *count == 0 ||
      *count > UINT32_MAX / dataset.elementBytes)
    return damaged(place, ": claims chunks of ", indexText(chunk), " elements");
  for (const StoredChunk &each : dataset.chunks)
    if (!fits(each.offset, each.bytes, file.size()))
      return damaged(place, ": a chunk ends behind the end of the file: is it whole?");
  return {};
}

namespace {

void put(std::string &text, uint64_t number) {
  text.append(reinterpret_cast<const char *>(&number), sizeof(number));
}
void put(std::string &text, std::string_view bytes) {
  put(text, bytes.size());
  text += bytes;
}
template <typename Item> void put(std::string &text, const std::vector<Item> &items) {
  put(text,
      std::string_view(reinterpret_cast<const char *>(items.data()), items.size() * sizeof(Item)));
}

bool get(std::string_view &text, uint64_t &number) {
  if (text.size() < sizeof(number))
    return false;
  std::memcpy(&number, text.data(), sizeof(number));
  text.remove_prefix(sizeof(number));
  return true;
}
bool get(std::string_view &text, std::string &bytes) {
  uint64_t size = 0;
  if (!get(text, size) || size > text.size())
    return false;
  bytes = text.substr(0, size);
  text.remove_prefix(size);
  return true;
}
template <typename Item> bool get(std::string_view &text, std::vector<Item> &items) {
  std::string bytes;
  if (!get(text, bytes) || bytes.size() % sizeof(Item) != 0)
    return false;
  items.resize(bytes.size() / sizeof(Item));
  if (!items.empty())
    std::memcpy(items.data(), bytes.data(), bytes.size());
  return true;
}

} // namespace

void append(std::string &text, const StoredDataset &dataset) {
  const TypedArray &array = dataset.array;
  put(text, array.name);
  put(text, array.type);
  put(text, uint64_t(array.isBigEndian));
  put(text, array.shape);
  for (uint64_t number : {dataset.elementBytes, dataset.offset, dataset.shuffledBytes})
    put(text, number);
  put(text, dataset.whole);
  put(text, dataset.chunk);
  put(text, dataset.chunks);
  put(text, dataset.filters);
}

bool take(std::string_view &text, StoredDataset &dataset) {
  TypedArray &array = dataset.array;
  uint64_t isBigEndian = 0;
  const bool got = get(text, array.name) && get(text, array.type) && get(text, isBigEndian) &&
                   get(text, array.shape) && get(text, dataset.elementBytes) &&
                   get(text, dataset.offset) && get(text, dataset.shuffledBytes) &&
                   get(text, dataset.whole) && get(text, dataset.chunk) &&
                   get(text, dataset.chunks) && get(text, dataset.filters);
  array.isBigEndian = isBigEndian != 0;
  return got;
}

} // namespace dlc::runtime
