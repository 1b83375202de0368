// Datums by the number of their key.
#include "runtime/Data/Formats/LmdbDataset.h"
#include "dlc/plan.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/Messages.h"
#include "runtime/Data/Formats/PackedPictures.h"
#include "runtime/Data/Formats/Shards.h"
#include "runtime/Data/Lmdb/Plugin.h"

#include <cstring>
#include <optional>

namespace dlc::runtime {
namespace {

bool isDatabase(const std::string &folder, std::string_view name) {
  const std::string path = concat(folder, name);
  if (isFolder(path))
    return isThere(path + "/data.mdb");
  return (name.ends_with(".mdb") && name != "lock.mdb") || name.ends_with(".lmdb");
}

constexpr ShardKind kind = {isDatabase, "folders with a data.mdb", /*folders=*/true};

class LmdbSource : public PackedSource {
public:
  LmdbSource(std::string path, std::unique_ptr<const LmdbReader> records)
      : path(std::move(path)), records(std::move(records)) {}
  /// What the first record is, all are to be.
  Status open() {
    DLC_TRY_ASSIGN(first, datumOf(0));
    if (!first.isPicture())
      pixelField = fieldOf(first);
    return {};
  }
  uint64_t size() const override { return records->size(); }
  const DatasetField *pixels() const override { return pixelField ? &*pixelField : nullptr; }
  Status read(uint64_t index, PackedRecord &record) const override {
    record.place = placeOf(index);
    DLC_TRY_ASSIGN(datum, datumOf(index));
    if (datum.isPicture() ? pixelField.has_value() : !isOfOneSize(datum))
      return damaged(record.place, ": is ", textOf(datum), ", the first is ",
                     pixelField ? textOf(*pixelField) : "a picture");
    record.picture = datum.data;
    if (!datum.floats.empty()) {
      const auto bytes = std::as_bytes(std::span(datum.floats));
      record.room.assign(bytes.begin(), bytes.end());
      record.picture = record.room;
    }
    record.labels = {static_cast<int32_t>(datum.label)};
    return {};
  }

private:
  std::string placeOf(uint64_t index) const {
    return concat(path, ": record '", excerpt(records->key(index)), "'");
  }
  Result<Datum> datumOf(uint64_t index) const {
    DLC_TRY_ASSIGN(value, records->value(index));
    Result<Datum> datum = parseDatum(value);
    return datum.ok() ? std::move(datum) : datum.takeStatus().in(placeOf(index));
  }
  DatasetField fieldOf(const Datum &datum) const {
    return {.kind = FieldKind::Image,
            .dtype = datum.floats.empty() ? DLC_U8 : DLC_F32,
            .shape = {datum.channels, datum.height, datum.width},
            .file = path};
  }
  static std::string textOf(const DatasetField &field) {
    return TensorType{field.dtype, field.shape, {}}.str();
  }
  std::string textOf(const Datum &datum) const {
    return datum.isPicture() ? "a picture" : textOf(fieldOf(datum));
  }
  bool isOfOneSize(const Datum &datum) const {
    const DatasetField field = fieldOf(datum);
    return pixelField && field.dtype == pixelField->dtype && field.shape == pixelField->shape;
  }

  std::string path;
  std::unique_ptr<const LmdbReader> records;
  std::optional<DatasetField> pixelField;
};

} // namespace

std::vector<std::string> lmdbFiles(const std::string &path, Split split) {
  return shardFiles(path, split, kind);
}

bool hasLmdbSplit(const std::string &path, Split split) { return hasShardSplit(path, split, kind); }

Result<std::shared_ptr<const Dataset>> openLmdbDataset(const std::string &path, Split split,
                                                       const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    DLC_TRY_ASSIGN(plugin, openLmdbPlugin());
    DLC_TRY_ASSIGN(files, findShards(path, split, kind));
    if (files.size() > 1)
      return invalid(path, ": has ", files.size(), " databases, as ", files[0], " and ", files[1],
                     ", expected one, or one each with train and val in its name");
    DLC_TRY_ASSIGN(records, plugin->open(files[0]));
    auto source = std::make_unique<LmdbSource>(files[0], std::move(records));
    if (source->size() > 0)
      DLC_TRY(source->open());
    return openPackedPictures(files[0], std::move(source), reader);
  });
}

} // namespace dlc::runtime
