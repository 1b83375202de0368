// Samples of tar files.
#include "runtime/Data/Formats/TarShards.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/JsonEvents.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/PackedPictures.h"
#include "runtime/Data/Formats/TarFile.h"
#include "runtime/Data/Formats/TarIndex.h"

#include <algorithm>
#include <optional>

namespace dlc::runtime {
namespace {

using nlohmann::json;

constexpr ShardKind kind = {
    [](const std::string &, std::string_view name) { return name.ends_with(".tar"); },
    "files whose names end in .tar"};

constexpr std::string_view notDecoded[] = {"bmp", "gif", "pgm", "ppm", "tif", "tiff"};

constexpr std::string_view expected = "expected a whole number from 0";

/// The label in a .cls.
Result<int32_t> labelInText(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  int32_t label = -1;
  std::string_view number = text.substr(0, text.find_last_not_of(blanks) + 1);
  number.remove_prefix(std::min(number.find_first_not_of(blanks), number.size()));
  if (number.empty() || !takeNumber(number, label) || !number.empty() || label < 0)
    return damaged("'", excerpt(text), "' is no label, ", expected);
  return label;
}

/// Hears the parser's events: a number, or an object's "label" or "cls".
class LabelReader : public json::json_sax_t {
public:
  /// The value of "label", of "cls" where that is none, or of the text where that is no object;
  /// below 0: none that is a label; nothing where there is none at all.
  std::optional<int32_t> label() const {
    return byLabel && (*byLabel >= 0 || !byClass) ? byLabel : byClass;
  }

  bool number_unsigned(uint64_t number) override {
    return take(number > INT32_MAX ? -1 : static_cast<int32_t>(number));
  }
  bool null() override { return take(-1); }
  bool boolean(bool) override { return take(-1); }
  bool number_integer(int64_t) override { return take(-1); }
  bool number_float(double, const std::string &) override { return take(-1); }
  bool string(std::string &) override { return take(-1); }
  bool binary(json::binary_t &) override { return take(-1); }
  bool start_object(size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool start_array(size_t) override {
    isKey = isKey || depth == 0;
    return begin();
  }
  bool end_array() override { return end(); }
  bool key(std::string &text) override {
    isLabel = text == "label";
    isKey = depth == 1 && (isLabel || text == "cls");
    return true;
  }
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) override {
    return false;
  }

private:
  bool begin() {
    if (isKey)
      take(-1);
    ++depth;
    return true;
  }
  bool end() {
    --depth;
    return true;
  }
  bool take(int32_t number) {
    if (isKey || depth == 0)
      (isLabel ? byLabel : byClass) = number;
    isKey = false;
    return true;
  }

  int depth = 0;
  bool isKey = false, isLabel = false;
  std::optional<int32_t> byLabel, byClass;
};

/// The label in a .json.
Result<int32_t> labelInJson(std::string_view text) {
  DLC_TRY(checkJsonDepth(text));
  LabelReader reader;
  if (!parseJson(text, reader))
    return damaged("'", excerpt(text), "' is no JSON");
  const std::optional<int32_t> label = reader.label();
  if (!label)
    return damaged("'", excerpt(text), "' has neither \"label\" nor \"cls\"");
  if (*label < 0)
    return damaged("'", excerpt(text), "' has no label, ", expected);
  return *label;
}

/// The files side by side that share a key.
struct Sample {
  std::string key;
  ShardRecord picture;
  bool hasClass = false, hasJson = false;
  int32_t label = -1;
};

/// Walks through a shard.
class Scanner {
public:
  explicit Scanner(const File &file) : file(file), reader(file) {}

  Result<std::vector<ShardRecord>> scan() {
    TarMember member;
    while (true) {
      DLC_TRY_ASSIGN(isOne, reader.next(member));
      if (!isOne)
        break;
      const size_t base = member.name.rfind('/') + 1, dot = member.name.find('.', base);
      if (dot == std::string::npos || dot == base)
        continue;
      if (std::string key = member.name.substr(0, dot); key != sample.key) {
        DLC_TRY(endSample());
        sample = {std::move(key), {}};
      }
      DLC_TRY(
          take(member, member.name.substr(dot + 1))
              .in(concat(file.path(), ": '", excerpt(member.name), "' at byte ", member.offset)));
    }
    DLC_TRY(endSample());
    return std::move(records);
  }

private:
  Status take(const TarMember &member, std::string ending) {
    for (char &c : ending)
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    if (std::ranges::find(notDecoded, ending) != std::end(notDecoded))
      return unsupported("pictures of this kind are not read, expected .jpg, .jpeg, .png or .webp");
    if (isPictureEnding(ending))
      return takePicture(member);
    if (ending == "cls" || ending == "json")
      return takeLabel(member, ending == "json");
    return {};
  }

  Status takePicture(const TarMember &member) {
    if (sample.picture.offset != 0)
      return damaged("a second picture of its sample, the first is at byte ",
                     sample.picture.offset);
    if (member.bytes > mostRecordBytes)
      return damaged("has ", member.bytes, " bytes, a picture has at most ", mostRecordBytes);
    sample.picture.offset = member.offset;
    sample.picture.bytes = static_cast<uint32_t>(member.bytes);
    return {};
  }

  /// A .cls says more than a .json beside it, which may be about something else.
  Status takeLabel(const TarMember &member, bool isJson) {
    if (isJson ? sample.hasJson : sample.hasClass)
      return damaged("a second label of its sample");
    (isJson ? sample.hasJson : sample.hasClass) = true;
    if (isJson && sample.hasClass)
      return {};
    DLC_TRY_ASSIGN(content, reader.contentOf(member));
    const std::string_view text(reinterpret_cast<const char *>(content.data()), content.size());
    Result<int32_t> label = isJson ? labelInJson(text) : labelInText(text);
    if (isJson) {
      jsonFailure = label.ok() ? Status() : label.takeStatus();
      jsonAt = member.offset;
    } else if (!label.ok()) {
      return label.takeStatus();
    }
    sample.label = label.ok() ? *label : -1;
    return {};
  }

  Status endSample() {
    const bool hasPicture = sample.picture.offset != 0;
    if (hasPicture && sample.hasJson && !sample.hasClass && sample.label < 0)
      return std::move(jsonFailure)
          .in(concat(file.path(), ": '", excerpt(sample.key), ".json' at byte ", jsonAt));
    if (hasPicture && sample.label < 0)
      return damaged(file.path(), ": '", excerpt(sample.key), "', whose picture is at byte ",
                     sample.picture.offset, ", has no .cls or .json beside it");
    if (!hasPicture && sample.hasClass)
      return damaged(file.path(), ": '", excerpt(sample.key),
                     "' has a .cls, but no .jpg, .jpeg, .png or .webp beside it");
    if (hasPicture) {
      sample.picture.label = sample.label;
      records.push_back(sample.picture);
    }
    return {};
  }

  const File &file;
  TarReader reader;
  Sample sample;
  /// Of a JSON without a label, which counts where no .cls follows.
  Status jsonFailure;
  uint64_t jsonAt = 0;
  std::vector<ShardRecord> records;
};

Result<std::vector<ShardRecord>> scanShard(const std::string &path) {
  DLC_TRY_ASSIGN(indexed, readTarIndex(path));
  if (indexed)
    return std::move(*indexed);
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  return Scanner(file).scan();
}

class TarSource : public PackedSource {
public:
  explicit TarSource(ShardIndex index) : index(std::move(index)) {}
  uint64_t size() const override { return index.size(); }
  const int32_t *label(uint64_t number) const override { return &index[number].label; }
  /// With the header in front, which is another where an index is that of another file.
  Status read(uint64_t number, PackedRecord &record) const override {
    const ShardRecord &found = index[number];
    const size_t file = index.fileOf(number);
    record.place = concat(index.files().paths()[file], ": the picture at byte ", found.offset);
    record.room.resize(tarBlock + found.bytes);
    DLC_TRY(index.files().readAt(file, found.offset - tarBlock, record.room));
    const std::span<const std::byte> content = record.room;
    DLC_TRY(checkTarHeader(content.first(tarBlock), found.bytes)
                .in(concat(record.place, ", if ", tarIndexPath(index.files().paths()[file]),
                           " is right")));
    record.picture = content.subspan(tarBlock);
    record.labels = {found.label};
    return {};
  }

private:
  ShardIndex index;
};

} // namespace

std::vector<std::string> tarFiles(const std::string &path, Split split) {
  std::vector<std::string> files = shardFiles(path, split, kind);
  for (size_t i = 0, shards = files.size(); i < shards; ++i)
    files.push_back(tarIndexPath(files[i]));
  return files;
}

bool hasTarSplit(const std::string &path, Split split) { return hasShardSplit(path, split, kind); }

Result<std::shared_ptr<const Dataset>> openTarShards(const std::string &path, Split split,
                                                     const EntryInfo *reader) {
  return guarded([&]() -> Result<std::shared_ptr<const Dataset>> {
    DLC_TRY_ASSIGN(files, findShards(path, split, kind));
    DLC_TRY_ASSIGN(index, ShardIndex::open(std::move(files), scanShard));
    return openPackedPictures(path, std::make_unique<TarSource>(std::move(index)), reader);
  });
}

} // namespace dlc::runtime
