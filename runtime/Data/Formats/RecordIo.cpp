// A record is one part or several: where the magic number stands in it, at a multiple of four, it
// is cut, and the number left out.
#include "runtime/Data/Formats/RecordIo.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/PackedPictures.h"
#include "runtime/Data/Formats/Shards.h"

#include <array>
#include <cmath>
#include <cstring>

namespace dlc::runtime {
namespace {

constexpr ShardKind kind = {
    [](const std::string &, std::string_view name) { return name.ends_with(".rec"); },
    "files whose names end in .rec"};

constexpr uint32_t magic = 0xced7230a;

/// In front of each part. Its length says in the upper three bits which part it is.
struct PartHeader {
  uint32_t magic, length;

  uint64_t bytes() const { return length & 0x1fffffff; }
  uint32_t part() const { return length >> 29; }
};
enum Part : uint32_t { Whole, First, Middle, Last };

/// Where the part behind one begins.
uint64_t endOf(uint64_t at, const PartHeader &header) {
  return at + sizeof(header) + alignUp(header.bytes(), 4);
}

/// The header at `at`, which is one, and its part in the file.
Result<PartHeader> checkedHeader(std::span<const std::byte> bytes, uint64_t at,
                                 uint64_t fileBytes) {
  PartHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != magic || header.part() > Last)
    return damaged("no record of RecordIO at byte ", at);
  if (endOf(at, header) > fileBytes)
    return damaged("the record at byte ", at, " claims ", header.bytes(),
                   " bytes, the file ends at byte ", fileBytes);
  return header;
}

std::string indexPath(const std::string &path) {
  return concat(path.substr(0, path.size() - (path.ends_with(".rec") ? 4 : 0)), ".idx");
}

/// Lines of a number and where its record begins.
Result<std::vector<ShardRecord>> readIndex(const std::string &path, uint64_t fileBytes) {
  constexpr uint64_t mostBytes = uint64_t(1) << 34;
  DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
  std::string_view rest(reinterpret_cast<const char *>(content.data()), content.size());
  std::vector<ShardRecord> records;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = takeLine(rest);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    std::string_view offset = line.substr(std::min(line.find('\t'), line.size()));
    offset.remove_prefix(std::min<size_t>(1, offset.size()));
    ShardRecord &record = records.emplace_back();
    if (offset.empty() || !takeNumber(offset, record.offset) || !offset.empty())
      return damaged(path, ":", number, ": '", excerpt(line),
                     "', expected a number, a tab and where its record begins");
    if (!fits(record.offset, sizeof(PartHeader), fileBytes))
      return damaged(path, ":", number, ": byte ", record.offset, " of a file of ", fileBytes);
  }
  return records;
}

Result<std::vector<ShardRecord>> scanRecords(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  if (const std::string index = indexPath(path); isThere(index))
    return readIndex(index, file.size());
  FileWindow window(file);
  std::vector<ShardRecord> records;
  for (uint64_t at = 0; at < file.size();) {
    DLC_TRY_ASSIGN(bytes, window.at(at, sizeof(PartHeader)));
    Result<PartHeader> header = checkedHeader(bytes, at, file.size());
    if (!header.ok())
      return header.takeStatus().in(path);
    if (header->part() == Whole || header->part() == First)
      records.push_back({at});
    at = endOf(at, *header);
  }
  return records;
}

/// In front of a record's picture.
struct ImageHeader {
  /// How many labels follow; 0: the one here.
  uint32_t flag;
  float label;
  uint64_t id[2];
};
static_assert(sizeof(ImageHeader) == 24);

class RecordIoSource : public PackedSource {
public:
  explicit RecordIoSource(ShardIndex index) : index(std::move(index)) {}
  /// How many labels the first record has is how many each has.
  Status open() {
    PackedRecord first;
    DLC_TRY(read(0, first));
    labels = first.labels.size();
    return {};
  }
  uint64_t size() const override { return index.size(); }
  uint64_t labelCount() const override { return labels; }
  Status read(uint64_t number, PackedRecord &record) const override {
    const size_t file = index.fileOf(number);
    record.place = concat(index.files().paths()[file], ": record ", index.numberOf(number),
                          " at byte ", index[number].offset);
    DLC_TRY(readParts(file, index[number].offset, record.room).in(record.place));
    return readImage(record).in(record.place);
  }

private:
  Status readParts(size_t file, uint64_t at, std::vector<std::byte> &room) const {
    DLC_TRY_ASSIGN(fileBytes, index.files().size(file));
    room.clear();
    for (Part expected = First;; expected = Last) {
      std::array<std::byte, sizeof(PartHeader)> bytes;
      DLC_TRY(index.files().readAt(file, at, bytes));
      DLC_TRY_ASSIGN(header, checkedHeader(bytes, at, fileBytes));
      const bool isFirst = header.part() == Whole || header.part() == First;
      if (isFirst != (expected == First))
        return damaged(isFirst ? "ends at byte " : "begins in a record's middle: byte ", at);
      if (!isFirst) {
        const auto cut = std::as_bytes(std::span(&magic, 1));
        room.insert(room.end(), cut.begin(), cut.end());
      }
      const size_t held = room.size();
      if (held + header.bytes() > mostRecordBytes)
        return damaged("has more than ", mostRecordBytes, " bytes");
      room.resize(held + header.bytes());
      DLC_TRY(index.files().readAt(file, at + sizeof(header), std::span(room).subspan(held)));
      if (header.part() == Whole || header.part() == Last)
        return {};
      at = endOf(at, header);
    }
  }

  Status readImage(PackedRecord &record) const {
    const std::span<const std::byte> content = record.room;
    ImageHeader header;
    if (content.size() < sizeof(header))
      return damaged("has ", content.size(), " bytes, a header of images ", sizeof(header));
    std::memcpy(&header, content.data(), sizeof(header));
    if (!fits(sizeof(header), uint64_t(header.flag) * sizeof(float), content.size()))
      return damaged("claims ", header.flag, " labels, has ", content.size(), " bytes");
    std::vector<float> numbers(std::max<size_t>(1, header.flag), header.label);
    std::memcpy(numbers.data(), content.data() + sizeof(header), header.flag * sizeof(float));
    record.labels.clear();
    for (float number : numbers) {
      if (!(number >= 0 && number < 0x1p31f) || number != std::floor(number))
        return damaged("has label ", decimalText(number), ", expected a whole number from 0");
      record.labels.push_back(static_cast<int32_t>(number));
    }
    record.picture = content.subspan(sizeof(header) + header.flag * sizeof(float));
    return {};
  }

  ShardIndex index;
  uint64_t labels = 1;
};

} // namespace

std::vector<std::string> recordIoFiles(const std::string &path, Split split) {
  std::vector<std::string> files = shardFiles(path, split, kind);
  for (size_t i = 0, count = files.size(); i < count; ++i)
    files.push_back(indexPath(files[i]));
  return files;
}

bool hasRecordIoSplit(const std::string &path, Split split) {
  return hasShardSplit(path, split, kind);
}

Result<std::shared_ptr<const Dataset>> openRecordIo(const std::string &path, Split split,
                                                    const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    DLC_TRY_ASSIGN(files, findShards(path, split, kind));
    DLC_TRY_ASSIGN(index, ShardIndex::open(std::move(files), scanRecords));
    auto source = std::make_unique<RecordIoSource>(std::move(index));
    if (source->size() > 0)
      DLC_TRY(source->open());
    return openPackedPictures(path, std::move(source), reader);
  });
}

} // namespace dlc::runtime
