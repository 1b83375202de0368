// Writing tar shards and their indices.
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/PictureBytes.h"
#include "runtime/Data/Formats/RecordWriter.h"
#include "runtime/Data/Formats/TarFile.h"
#include "runtime/Data/Formats/TarIndex.h"

#include <filesystem>
#include <optional>

namespace dlc::runtime {
namespace {

/// One shard at a time.
class TarWriter : public RecordWriter {
public:
  TarWriter(const std::string &folder, std::string_view name, uint64_t shardBytes)
      : start(concat(folder, "/", name, "-")), shardBytes(shardBytes) {}

  Status add(std::string_view key, std::span<const std::byte> picture, int32_t label) override {
    return guarded([&]() -> Status {
      DLC_TRY(checkLabel(key, label));
      DLC_TRY_ASSIGN(ending, pictureEnding(key, picture));
      return addFiles(recordKey(key), ending, picture, label);
    });
  }
  Status addRaw(std::string_view key, const RawPicture &picture, int32_t label) override {
    return guarded([&]() -> Status {
      DLC_TRY(checkLabel(key, label));
      DLC_TRY_ASSIGN(png, pngOf(key, picture));
      return addFiles(recordKey(key), "png", png, label);
    });
  }
  Status finish() override {
    return guarded([&]() -> Status {
      if (shard)
        DLC_TRY(endShard());
      if (const std::string next = pathOf(number); isThere(next))
        return failure(StatusCode::Io, next,
                       ": is there from before, and would be read behind the ", number,
                       " shards that were written; remove it");
      return {};
    });
  }

private:
  struct Shard {
    FileWriter file;
    TarIndexText index = {};
    uint64_t bytes = 0;
    std::string lastKey = {};
  };

  std::string pathOf(uint64_t shardNumber) const {
    std::string digits = std::to_string(shardNumber);
    digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, '0');
    return concat(start, digits, ".tar");
  }

  Status addFiles(const std::string &key, std::string_view ending,
                  std::span<const std::byte> picture, int32_t label) {
    if (picture.size() > mostRecordBytes || key.ends_with('/'))
      return invalid("'", excerpt(key), "': its name ends with '/', or it has more than ",
                     mostRecordBytes, " bytes");
    const std::string number = std::to_string(label);
    std::vector<std::byte> front, back;
    appendTarHeader(front, concat(key, ".", ending), picture.size());
    appendTarHeader(back, concat(key, ".cls"), number.size());
    const uint64_t labelAt = back.size(), backAt = alignUp(picture.size(), tarBlock);
    const auto digits = std::as_bytes(std::span(number));
    back.insert(back.end(), digits.begin(), digits.end());
    back.resize(alignUp(back.size(), tarBlock));
    const uint64_t all = front.size() + backAt + back.size();
    if (shard && shard->bytes + all + endBytes > shardBytes)
      DLC_TRY(endShard());
    if (!shard) {
      DLC_TRY_ASSIGN(file, FileWriter::create(pathOf(this->number)));
      shard.emplace(Shard{std::move(file)});
    }
    if (shard->lastKey == key)
      return invalid("'", excerpt(key), "': two samples in a row have this name");
    shard->lastKey = key;
    const uint64_t pictureAt = shard->bytes + front.size();
    DLC_TRY(shard->file.append(front));
    DLC_TRY(shard->file.append(picture));
    DLC_TRY(shard->file.append(std::vector<std::byte>(backAt - picture.size())));
    DLC_TRY(shard->file.append(back));
    shard->index.add(ending, pictureAt, picture.size(), key, pictureAt + backAt + labelAt,
                     number.size(), label);
    shard->bytes += all;
    return {};
  }

  /// Without an index in between a file is walked through: that of another one may fit its size.
  Status endShard() {
    const std::string path = pathOf(number);
    DLC_TRY(shard->file.append(std::vector<std::byte>(endBytes)));
    removeFile(tarIndexPath(path));
    DLC_TRY(shard->file.commit());
    DLC_TRY(writeFile(tarIndexPath(path), shard->index.text(shard->bytes + endBytes)));
    shard.reset();
    ++number;
    return {};
  }

  static constexpr uint64_t endBytes = 2 * tarBlock;
  std::string start;
  uint64_t shardBytes, number = 0;
  std::optional<Shard> shard;
};

} // namespace

Result<std::unique_ptr<RecordWriter>> createTarWriter(const std::string &folder,
                                                      std::string_view name, uint64_t shardBytes) {
  return guarded([&]() -> Result<std::unique_ptr<RecordWriter>> {
    DLC_TRY(makeRecordFolder(folder));
    return std::unique_ptr<RecordWriter>(std::make_unique<TarWriter>(folder, name, shardBytes));
  });
}

} // namespace dlc::runtime
