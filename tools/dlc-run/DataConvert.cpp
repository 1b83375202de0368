// Pictures packed: a data set of many small files, or of pixels, as tar shards or LMDB. The new
// folder gets its name when all of it is written.
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/PictureBytes.h"
#include "runtime/Data/Formats/RecordWriter.h"
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Data/SampleWalk.h"
#include "tools/dlc-run/Data.h"
#include "tools/dlc-run/DataSurvey.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace dlc::runtime::tool {
namespace {

constexpr std::string_view tarPrefix = "tar:", lmdbPrefix = "lmdb:";

/// The folder of --convert, without slashes behind it.
std::string folderOf(const std::string &target) {
  std::string folder = target.substr(target.find(':') + 1);
  while (folder.size() > 1 && folder.ends_with('/'))
    folder.pop_back();
  return folder;
}

Result<std::unique_ptr<RecordWriter>>
createWriter(const std::string &target, const std::string &folder, std::string_view name) {
  constexpr uint64_t shardBytes = uint64_t(1) << 28;
  const std::string own = concat(folder, "/", name);
  return target.starts_with(tarPrefix) ? createTarWriter(own, name, shardBytes)
                                       : createLmdbWriter(own);
}

/// A folder that has another name until all of it is there, and is removed if that fails.
class NewFolder {
public:
  static Result<NewFolder> create(const std::string &path) {
    NewFolder made(path);
    if (isThere(path))
      return failure(StatusCode::Io, path, ": is there already; name another folder");
    if (isThere(made.unfinished))
      return failure(StatusCode::Io, made.unfinished,
                     ": is left from a conversion that was ended, or is at work; remove it");
    DLC_TRY(makeRecordFolder(made.unfinished));
    made.isOwn = true;
    return made;
  }
  NewFolder(NewFolder &&other) noexcept
      : path(std::move(other.path)), unfinished(std::move(other.unfinished)),
        isOwn(std::exchange(other.isOwn, false)) {}
  ~NewFolder() {
    std::error_code ignored;
    if (isOwn)
      std::filesystem::remove_all(unfinished, ignored);
  }

  const std::string &at() const { return unfinished; }
  Status finish() {
    DLC_TRY(putInPlace(unfinished, path));
    isOwn = false;
    return {};
  }

private:
  explicit NewFolder(const std::string &path) : path(path), unfinished(path + ".unfinished") {}
  std::string path, unfinished;
  bool isOwn = false;
};

/// What becomes of one sample.
struct Converted {
  /// A picture's file; else pixels as they are.
  std::vector<std::byte> file;
  RawPicture raw;
  std::vector<std::byte> pixels;
  int32_t label = 0;
};

/// Reads samples as they are written. Threads: several at once, each with a number of its own.
class Converter {
public:
  static Result<Converter> create(const DataFlags &flags, const OpenedData &data,
                                  unsigned threads) {
    DLC_TRY_ASSIGN(images, imagesOf(data.dataset, nullptr));
    Converter made(flags, std::move(images));
    if (made.images.mapped.from != DLC_U8)
      return invalid(data.dataset->name(), ": images are ", dtypeName(made.images.mapped.from),
                     ", expected bytes for --convert");
    const std::vector<DatasetField> &fields = data.dataset->fields();
    const auto labels = std::ranges::find_if(fields, isOfLabels);
    if (labels == fields.end())
      return invalid(data.dataset->name(), ": there are no labels in it, which --convert keeps");
    made.labelField = static_cast<size_t>(labels - fields.begin());
    if (flags.resize == 0)
      return made;
    DLC_TRY_ASSIGN(encode, openPictureEncoder());
    made.encode = encode;
    DLC_TRY_ASSIGN(list, parseAugmentation(concat("resize:", flags.resize)));
    made.list = std::move(list.train);
    for (unsigned thread = 0; thread < threads; ++thread)
      made.readers.push_back(std::make_unique<FloatImages>(made.images));
    return made;
  }

  Status convert(uint32_t sample, unsigned thread, Converted &to) const {
    DLC_TRY(readLabel(sample, to));
    const size_t field = images.mapped.field;
    const DatasetField &stored = images.dataset->fields()[field];
    if (readers.empty() || !isLarge(stored, sample)) {
      if (stored.pictures)
        return images.dataset->readPictureFile(sample, field, to.file);
      DLC_TRY_ASSIGN(pixels, sampleAt(*images.dataset, sample, field, to.pixels));
      to.raw = {uint32_t(images.planes),
                images.sides->height,
                images.sides->width,
                {pixels, sampleBytes(stored)}};
      return {};
    }
    DLC_TRY_ASSIGN(numbers, readers[thread]->read(sample, list, SampleDraws(0, 0, sample)));
    const Sides sides = readers[thread]->sides();
    Picture picture{sides.height, sides.width, uint32_t(images.planes)};
    const uint64_t pixels = numbers.size() / images.planes;
    picture.bytes.resize(numbers.size());
    for (uint64_t plane = 0; plane < images.planes; ++plane)
      for (uint64_t i = 0; i < pixels; ++i)
        picture.bytes[i * images.planes + plane] =
            static_cast<uint8_t>(std::nearbyint(numbers[plane * pixels + i] * 255));
    DLC_TRY_ASSIGN(file, encode(picture, PictureFormat::Jpeg, flags.quality));
    to.file = std::move(file);
    return {};
  }

private:
  Converter(const DataFlags &flags, DatasetImages found) : flags(flags), images(std::move(found)) {}

  Status readLabel(uint32_t sample, Converted &to) const {
    std::vector<std::byte> room;
    const DatasetField &field = images.dataset->fields()[labelField];
    DLC_TRY_ASSIGN(at, sampleAt(*images.dataset, sample, labelField, room));
    const double label = loadElement(field.dtype, at);
    if (label < 0 || label > INT32_MAX)
      return invalid(field.file, ": sample ", sample, " has label ", label,
                     ", expected a whole number from 0 for --convert");
    to.label = static_cast<int32_t>(label);
    return {};
  }

  /// Whether an image becomes smaller. What cannot be read is found where it is decoded.
  bool isLarge(const DatasetField &stored, uint32_t sample) const {
    Sides sides = images.sides.value_or(Sides{});
    if (stored.pictures) {
      Picture corner;
      const auto note = [&](uint32_t height, uint32_t width) {
        sides = {height, width};
        return PictureRequest{{0, 0, 1, 1}, 1, 1};
      };
      if (!images.dataset->readPicture(sample, images.mapped.field, note, corner).ok())
        return true;
    }
    return std::min(sides.height, sides.width) > flags.resize;
  }

  const DataFlags &flags;
  DatasetImages images;
  size_t labelField = 0;
  /// For --resize.
  PictureEncoder encode = nullptr;
  TransformList list;
  std::vector<std::unique_ptr<FloatImages>> readers;
};

/// What a sample is called: its picture's path without an ending, or its number.
std::string keyOf(const Dataset &dataset, uint64_t sample) {
  std::string name = dataset.sampleName(sample);
  const bool isInside = !name.empty() && !name.starts_with('/') && name.find("..") == name.npos;
  if (!isInside)
    return printf("%08llu", static_cast<unsigned long long>(sample));
  const size_t base = name.rfind('/') + 1, dot = name.rfind('.');
  return dot == name.npos || dot <= base ? name : name.substr(0, dot);
}

Status convertSplit(const DataFlags &flags, const OpenedData &data, RecordWriter &writer) {
  const Dataset &dataset = *data.dataset;
  const unsigned threads = threadsOf(flags);
  DLC_TRY_ASSIGN(converter, Converter::create(flags, data, threads));
  WalkBar bar(concat("convert ", data.splitName()), dataset.size(), flags.json);
  // So many at a time as keep all threads at work, and few enough to lie in memory.
  const uint64_t together = 16 * uint64_t(threads);
  std::string last;
  uint64_t bytes = 0;
  for (uint64_t first = 0; first < dataset.size(); first += together) {
    std::vector<Converted> converted(std::min(together, dataset.size() - first));
    const SampleWalk walk = {.samples = converted.size(), .blockSamples = 4, .threads = threads};
    DLC_TRY(walk.run([&](const SampleBlock &block) -> Status {
      for (uint64_t i = block.begin; i < block.end; ++i)
        DLC_TRY(converter.convert(static_cast<uint32_t>(first + i), block.thread, converted[i]));
      return {};
    }));
    for (uint64_t i = 0; i < converted.size(); ++i) {
      const Converted &each = converted[i];
      std::string key = keyOf(dataset, first + i);
      if (recordKey(key) == last)
        key += concat("_", first + i);
      last = recordKey(key);
      const bool isFile = !each.file.empty();
      DLC_TRY(isFile ? writer.add(key, each.file, each.label)
                     : writer.addRaw(key, each.raw, each.label));
      bytes += isFile ? each.file.size() : each.raw.pixels.size();
    }
    bar.update(first + converted.size());
  }
  DLC_TRY(writer.finish());
  if (flags.json)
    printJson({{"split", data.splitName()}, {"samples", dataset.size()}, {"bytes", bytes}});
  else
    std::printf("%s: %llu samples, %s of pictures\n", std::string(data.splitName()).c_str(),
                static_cast<unsigned long long>(dataset.size()),
                bytesText(static_cast<double>(bytes)).c_str());
  return {};
}

} // namespace

Status checkConvert(const DataFlags &flags) {
  for (const std::string_view prefix : {tarPrefix, lmdbPrefix})
    if (flags.convert.starts_with(prefix) && flags.convert.size() > prefix.size())
      return {};
  return invalid("--convert: expected tar:DIR or lmdb:DIR, found '", flags.convert, "'");
}

Status convertData(const DataFlags &flags) {
  DLC_TRY_ASSIGN(folder, NewFolder::create(folderOf(flags.convert)));
  for (const Split split : splitsOf(flags)) {
    DLC_TRY_ASSIGN(data, openData(flags, split));
    DLC_TRY_ASSIGN(
        writer, createWriter(flags.convert, folder.at(), split == Split::Train ? "train" : "val"));
    DLC_TRY(convertSplit(flags, data, *writer));
  }
  return folder.finish();
}

} // namespace dlc::runtime::tool
