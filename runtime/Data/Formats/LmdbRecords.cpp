// Writing LMDB databases of Caffe's Datum.
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/Messages.h"
#include "runtime/Data/Formats/PictureBytes.h"
#include "runtime/Data/Formats/RecordWriter.h"
#include "runtime/Data/Lmdb/Plugin.h"

namespace dlc::runtime {
namespace {

/// A key is the record's number, so that they are in order, and its name.
class LmdbRecords : public RecordWriter {
public:
  explicit LmdbRecords(std::unique_ptr<LmdbWriter> writer) : writer(std::move(writer)) {}

  Status add(std::string_view key, std::span<const std::byte> picture, int32_t label) override {
    return guarded([&]() -> Status {
      DLC_TRY(checkLabel(key, label));
      DLC_TRY(pictureEnding(key, picture).takeStatus());
      return addDatum(key, {.data = picture, .label = label, .encoded = true});
    });
  }
  Status addRaw(std::string_view key, const RawPicture &picture, int32_t label) override {
    return guarded([&]() -> Status {
      DLC_TRY(checkLabel(key, label));
      DLC_TRY(checkPixels(key, picture));
      return addDatum(key, {.channels = picture.channels,
                            .height = picture.height,
                            .width = picture.width,
                            .data = picture.pixels,
                            .label = label});
    });
  }
  Status finish() override {
    return guarded([&] { return writer->finish(); });
  }

private:
  Status addDatum(std::string_view key, const Datum &datum) {
    constexpr size_t digits = 10, mostKey = 400;
    std::string number = std::to_string(count++);
    number.insert(0, digits - number.size(), '0');
    const std::string message = datumMessage(datum);
    return writer->add(concat(number, "_", recordKey(key.substr(0, mostKey))),
                       std::as_bytes(std::span(message)));
  }

  std::unique_ptr<LmdbWriter> writer;
  uint32_t count = 0;
};

} // namespace

Result<std::unique_ptr<RecordWriter>> createLmdbWriter(const std::string &folder) {
  return guarded([&]() -> Result<std::unique_ptr<RecordWriter>> {
    DLC_TRY_ASSIGN(plugin, openLmdbPlugin());
    DLC_TRY(makeRecordFolder(folder));
    DLC_TRY_ASSIGN(writer, plugin->create(folder));
    return std::unique_ptr<RecordWriter>(std::make_unique<LmdbRecords>(std::move(writer)));
  });
}

} // namespace dlc::runtime
