// Reading packed pictures by number.
#include "runtime/Data/Formats/PackedPictures.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/PictureFiles.h"
#include "runtime/Data/Pictures/Plugin.h"

#include <atomic>
#include <cstring>

namespace dlc::runtime {
namespace {

/// Records in their order. A label that stands in its record is kept when that has been read: what
/// asks for the picture asks for the label too, and it is read once.
class PackedDataset : public Dataset {
public:
  PackedDataset(std::string path, std::unique_ptr<const PackedSource> records, uint32_t channels,
                PictureDecoder decode)
      : path(std::move(path)), source(std::move(records)), channels(channels), decode(decode) {
    fieldList = pictureFields(this->path, channels);
    if (const DatasetField *pixels = source->pixels())
      fieldList[imageField] = *pixels;
    if (source->labelCount() != 1)
      fieldList[labelField].shape = {source->labelCount()};
    else if (!source->label(0))
      seen = std::make_unique<std::atomic<uint32_t>[]>(source->size());
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return source->size(); }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return field == labelField ? reinterpret_cast<const std::byte *>(source->label(index))
                               : nullptr;
  }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    if (field == imageField && decode)
      return Dataset::read(index, field, bytes);
    return guarded([&]() -> Status {
      uint32_t kept = field == labelField && seen ? seen[index].load(std::memory_order_relaxed) : 0;
      if (kept != 0) {
        --kept;
        std::memcpy(bytes.data(), &kept, sizeof(kept));
        return {};
      }
      PackedRecord record;
      DLC_TRY(readRecord(index, record));
      const auto from =
          field == labelField ? std::as_bytes(std::span(record.labels)) : record.picture;
      std::memcpy(bytes.data(), from.data(), bytes.size());
      return {};
    });
  }
  Result<PictureRegion> readPicture(uint64_t index, size_t field, const PictureChooser &choose,
                                    Picture &picture) const override {
    if (field == labelField || !decode)
      return Dataset::readPicture(index, field, choose, picture);
    return guarded([&]() -> Result<PictureRegion> {
      PackedRecord record;
      DLC_TRY(readRecord(index, record));
      Result<PictureRegion> region = decode(record.picture, channels, choose, picture);
      picture.file = record.place;
      return region.ok() ? std::move(region) : region.takeStatus().in(record.place);
    });
  }

  Status readPictureFile(uint64_t index, size_t field,
                         std::vector<std::byte> &file) const override {
    if (field == labelField || !decode)
      return Dataset::readPictureFile(index, field, file);
    return guarded([&]() -> Status {
      PackedRecord record;
      DLC_TRY(readRecord(index, record));
      file.assign(record.picture.begin(), record.picture.end());
      return {};
    });
  }

private:
  static constexpr size_t imageField = 0, labelField = 1;

  /// With what does not depend on the format checked.
  Status readRecord(uint64_t index, PackedRecord &record) const {
    DLC_TRY(source->read(index, record));
    if (record.labels.size() != source->labelCount())
      return damaged(record.place, ": ", record.labels.size(), " labels, expected ",
                     source->labelCount(), " as the first has");
    for (int32_t label : record.labels)
      if (label < 0)
        return damaged(record.place, ": has label ", label, ", expected a whole number from 0");
    const uint64_t expected = decode ? 0 : sampleBytes(fieldList[imageField]);
    if (!decode && record.picture.size() != expected)
      return damaged(record.place, ": ", record.picture.size(), " bytes of pixels, expected ",
                     expected, " as the first has");
    if (seen)
      seen[index].store(static_cast<uint32_t>(record.labels[0]) + 1, std::memory_order_relaxed);
    return {};
  }

  std::string path;
  std::unique_ptr<const PackedSource> source;
  uint32_t channels;
  /// Null of pixels.
  PictureDecoder decode;
  std::vector<DatasetField> fieldList;
  /// The labels that were read, and 1; 0: not yet.
  std::unique_ptr<std::atomic<uint32_t>[]> seen;
};

} // namespace

Result<std::shared_ptr<const Dataset>>
openPackedPictures(std::string name, std::unique_ptr<const PackedSource> source,
                   const EntryInfo *reader) {
  if (source->size() == 0)
    return damaged(name, ": there are no samples in it");
  PictureDecoder decode = nullptr;
  if (!source->pixels()) {
    DLC_TRY_ASSIGN(opened, openPictureDecoder());
    decode = opened;
  }
  return std::shared_ptr<const Dataset>(std::make_shared<PackedDataset>(
      std::move(name), std::move(source), pictureChannels(reader), decode));
}

} // namespace dlc::runtime
