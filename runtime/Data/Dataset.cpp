// Which format `--data` names.
#include "runtime/Data/Dataset.h"
#include "dlc/plan.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ArrayDataset.h"
#include "runtime/Data/BytePairDataset.h"
#include "runtime/Data/CifarDataset.h"
#include "runtime/Data/Formats/CsvDataset.h"
#include "runtime/Data/Formats/Hdf5Dataset.h"
#include "runtime/Data/Formats/ImageFolder.h"
#include "runtime/Data/Formats/ImageList.h"
#include "runtime/Data/Formats/LmdbDataset.h"
#include "runtime/Data/Formats/PictureFiles.h"
#include "runtime/Data/Formats/RecordIo.h"
#include "runtime/Data/Formats/TarShards.h"
#include "runtime/Data/Formats/TfRecord.h"
#include "runtime/Data/IdxDataset.h"
#include "runtime/Data/TextDataset.h"
#include "runtime/Data/TokenDataset.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

struct Format {
  std::string_view prefix;
  std::vector<std::string> (*files)(const std::string &path, Split split);
  bool (*hasSplit)(const std::string &path, Split split);
  Result<std::shared_ptr<const Dataset>> (*open)(const std::string &path, Split split,
                                                 const EntryInfo *reader);
  /// What holds the test data.
  std::string_view tests;
  /// Pictures, or what may be.
  bool pictures = false;
};

/// What is in one file has both splits in it.
std::vector<std::string> oneFile(const std::string &path, Split) { return {path}; }

/// Each file of text has both splits.
bool hasBoth(const std::string &path, Split) { return isThere(path); }

/// What feeds inputs by their kind and is read whole.
template <auto open>
Result<std::shared_ptr<const Dataset>> openAll(const std::string &path, Split split,
                                               const EntryInfo *) {
  return open(path, split);
}

template <TextUnit unit>
Result<std::shared_ptr<const Dataset>> openText(const std::string &path, Split split,
                                                const EntryInfo *) {
  return openTextDataset(path, unit, split);
}

constexpr std::string_view testArrays = "arrays test.NAME", testText = "a tenth of the text",
                           testShards = "folder val or test, or shards with that in their names";

constexpr Format formats[] = {
    {"idx:", idxFiles, hasIdxSplit, openAll<openIdxDataset>,
     "files t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte"},
    {"cifar:", cifarFiles, hasCifarSplit, openAll<openCifarDataset>,
     "file test_batch.bin or test.bin"},
    {"images:", imageFolderFiles, hasImageFolderSplit, openImageFolder, "folder val or test", true},
    {"pictures:", oneFile, hasPictures, openPictures, "which they cannot have", true},
    {"list:", imageListFiles, hasImageListSplit, openImageList,
     "file val.txt or test.txt in a folder", true},
    {"tar:", tarFiles, hasTarSplit, openTarShards, testShards, true},
    {"tfrecord:", tfRecordFiles, hasTfRecordSplit, openTfRecord, testShards, true},
    {"recordio:", recordIoFiles, hasRecordIoSplit, openRecordIo, testShards, true},
    {"lmdb:", lmdbFiles, hasLmdbSplit, openLmdbDataset, testShards, true},
    {"safetensors:", oneFile, hasArraySplit, openArrayDataset, testArrays},
    {"npz:", oneFile, hasArraySplit, openArrayDataset, testArrays},
    {"hdf5:", oneFile, hasHdf5Split, openHdf5Dataset, "group test, or datasets test.NAME"},
    {"csv:", csvFiles, hasCsvSplit, openCsvDataset,
     "file test.csv beside one with 'train' in its name"},
    {"text:", oneFile, hasBoth, openText<TextUnit::Characters>, testText},
    {"words:", oneFile, hasBoth, openText<TextUnit::Words>, testText},
    {"bpe:", bytePairFiles, hasBytePairSplit, openAll<openBytePairDataset>, testText},
    {"tokens:", tokenFiles, hasTokenSplit, openAll<openTokenDataset>, "file val.bin"}};

/// The format that `description` begins with, if a path follows.
const Format *findFormat(std::string_view description) {
  for (const Format &format : formats)
    if (description.starts_with(format.prefix) && description.size() > format.prefix.size())
      return &format;
  return nullptr;
}

bool isHdf5Name(std::string_view path) { return path.ends_with(".h5") || path.ends_with(".hdf5"); }

} // namespace

Status Dataset::read(uint64_t index, size_t field, std::span<std::byte> bytes) const {
  const std::byte *from = sample(index, field);
  if (!from)
    return invalid(name(), ": its samples neither lie in memory nor can they be read");
  std::copy_n(from, bytes.size(), bytes.begin());
  return {};
}

Result<PictureRegion> Dataset::readPicture(uint64_t, size_t, const PictureChooser &,
                                           Picture &) const {
  return invalid(name(), ": its samples are no pictures");
}

Status Dataset::readPictureFile(uint64_t, size_t, std::vector<std::byte> &) const {
  return invalid(name(), ": its samples are no files of pictures");
}

uint64_t sampleBytes(const DatasetField &field) {
  return TensorType{field.dtype, field.shape, {}}.logicalBytes();
}

Result<const std::byte *> sampleAt(const Dataset &dataset, uint64_t index, size_t field,
                                   std::vector<std::byte> &room) {
  if (const std::byte *found = dataset.sample(index, field))
    return found;
  room.resize(sampleBytes(dataset.fields()[field]));
  // Of nothing it says nothing where that lies.
  if (!room.empty())
    DLC_TRY(dataset.read(index, field, room));
  return static_cast<const std::byte *>(room.data());
}

bool isInMemory(const Dataset &dataset, size_t field) {
  const DatasetField &asked = dataset.fields()[field];
  if (asked.pictures)
    return false;
  return dataset.size() == 0 || sampleBytes(asked) == 0 || dataset.sample(0, field) != nullptr;
}

bool isInMemory(const Dataset &dataset) {
  for (size_t field = 0; field < dataset.fields().size(); ++field)
    if (!isInMemory(dataset, field))
      return false;
  return true;
}

std::vector<std::string_view> dataFormats() {
  std::vector<std::string_view> names;
  for (const Format &format : formats)
    names.push_back(format.prefix);
  return names;
}

bool followsReader(const std::string &description) {
  const Format *format = findFormat(description);
  return format && (format->pictures || format->open == openCsvDataset);
}

bool hasSplit(const std::string &description, Split split) {
  const Format *format = findFormat(description);
  return format && format->hasSplit(description.substr(format->prefix.size()), split);
}

std::string_view testDataText(const std::string &description) {
  const Format *format = findFormat(description);
  return format ? format->tests : "";
}

std::vector<std::string> dataFiles(const std::string &description) {
  const Format *format = findFormat(description);
  if (!format)
    return {};
  const std::string path = description.substr(format->prefix.size());
  std::vector<std::string> files = format->files(path, Split::Train);
  const std::vector<std::string> tests = format->files(path, Split::Test);
  files.insert(files.end(), tests.begin(), tests.end());
  return files;
}

Result<std::shared_ptr<const Dataset>> openDataset(const std::string &description, Split split,
                                                   const EntryInfo *reader) {
  if (const Format *format = findFormat(description))
    return guarded(
        [&] { return format->open(description.substr(format->prefix.size()), split, reader); });
  std::string hint;
  if (isThere(description)) {
    const bool isLmdb = isThere(description + "/data.mdb") || description.ends_with(".mdb");
    const bool hasFolderOfLists = isFolder(description) && hasImageListSplit(description, split);
    hint = concat("; did you mean '",
                  isLmdb                                  ? "lmdb:"
                  : hasCifarSplit(description, split)     ? "cifar:"
                  : isImageFolder(description)            ? "images:"
                  : isPictureName(description)            ? "pictures:"
                  : hasFolderOfLists                      ? "list:"
                  : isFolder(description)                 ? "idx:"
                  : description.ends_with(".tar")         ? "tar:"
                  : description.ends_with(".tfrecord")    ? "tfrecord:"
                  : description.ends_with(".rec")         ? "recordio:"
                  : description.ends_with(".npz")         ? "npz:"
                  : isHdf5Name(description)               ? "hdf5:"
                  : description.ends_with(".csv")         ? "csv:"
                  : description.ends_with(".safetensors") ? "safetensors:"
                                                          : "text:",
                  description, "'?");
  }
  std::string names;
  for (std::string_view name : dataFormats())
    addItem(names, name);
  return invalid("data '", description, "': expected one of ", names, " and a path behind it",
                 hint);
}

} // namespace dlc::runtime
