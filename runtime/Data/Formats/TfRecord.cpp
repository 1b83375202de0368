// A record is its length, a checksum of that, its bytes and a checksum of those.
#include "runtime/Data/Formats/TfRecord.h"
#include "runtime/Core/Crc32c.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/Messages.h"
#include "runtime/Data/Formats/PackedPictures.h"
#include "runtime/Data/Formats/Shards.h"

#include <cstring>

namespace dlc::runtime {
namespace {

constexpr ShardKind kind = {[](const std::string &, std::string_view name) {
                              return name.find("tfrec") != std::string_view::npos ||
                                     name.find("-of-") != std::string_view::npos;
                            },
                            "files with tfrec or -of- in their names"};

constexpr uint64_t lengthBytes = 8, checksumBytes = 4, headerBytes = lengthBytes + checksumBytes;

template <typename Number> Number numberAt(std::span<const std::byte> bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

/// Whether the checksum behind `count` bytes is theirs. It is masked, as it may be a part of what
/// has a checksum itself.
bool isSound(std::span<const std::byte> bytes, uint64_t count) {
  const uint32_t crc = crc32c(bytes.first(count));
  return numberAt<uint32_t>(bytes.subspan(count)) == (crc >> 15 | crc << 17) + 0xa282ead8;
}

Result<std::vector<ShardRecord>> scanRecords(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  FileWindow window(file);
  std::vector<ShardRecord> records;
  for (uint64_t at = 0; at < file.size();) {
    DLC_TRY_ASSIGN(header, window.at(at, headerBytes));
    if (!isSound(header, lengthBytes)) {
      const std::string_view found = at == 0 ? fileKind(file) : "";
      return damaged(path, ": ",
                     found.empty() ? concat("the length at byte ", at, " has another checksum")
                                   : concat("is ", found, ", expected TFRecord"));
    }
    const auto bytes = numberAt<uint64_t>(header);
    if (!fits(at + headerBytes, bytes, file.size()) ||
        !fits(at + headerBytes + bytes, checksumBytes, file.size()))
      return damaged(path, ": the record at byte ", at, " claims ", bytes,
                     " bytes, the file ends at byte ", file.size());
    if (bytes > mostRecordBytes)
      return damaged(path, ": the record at byte ", at, " has ", bytes, " bytes, expected at most ",
                     mostRecordBytes);
    records.push_back({at, static_cast<uint32_t>(bytes), -1});
    at += headerBytes + bytes + checksumBytes;
  }
  return records;
}

class TfRecordSource : public PackedSource {
public:
  explicit TfRecordSource(ShardIndex index) : index(std::move(index)) {}
  uint64_t size() const override { return index.size(); }
  Status read(uint64_t number, PackedRecord &record) const override {
    const ShardRecord &found = index[number];
    const size_t file = index.fileOf(number);
    record.place = concat(index.files().paths()[file], ": record ", index.numberOf(number),
                          " at byte ", found.offset);
    record.room.resize(found.bytes + checksumBytes);
    DLC_TRY(index.files().readAt(file, found.offset + headerBytes, record.room));
    if (!isSound(record.room, found.bytes))
      return damaged(record.place, ": has another checksum than its bytes");
    Result<Example> example = parseExample(std::span(record.room).first(found.bytes));
    if (!example.ok())
      return example.takeStatus().in(record.place);
    if (example->label < 0 || example->label > INT32_MAX)
      return damaged(record.place, ": has label ", example->label,
                     ", expected a whole number from 0");
    record.picture = example->picture;
    record.labels = {static_cast<int32_t>(example->label)};
    return {};
  }

private:
  ShardIndex index;
};

} // namespace

std::vector<std::string> tfRecordFiles(const std::string &path, Split split) {
  return shardFiles(path, split, kind);
}

bool hasTfRecordSplit(const std::string &path, Split split) {
  return hasShardSplit(path, split, kind);
}

Result<std::shared_ptr<const Dataset>> openTfRecord(const std::string &path, Split split,
                                                    const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    DLC_TRY_ASSIGN(files, findShards(path, split, kind));
    DLC_TRY_ASSIGN(index, ShardIndex::open(std::move(files), scanRecords));
    return openPackedPictures(path, std::make_unique<TfRecordSource>(std::move(index)), reader);
  });
}

} // namespace dlc::runtime
