// Indices of tar shards, read and written.
#include "runtime/Data/Formats/TarIndex.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Formats/TarFile.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

/// The words of a line, one after the other.
class Words {
public:
  explicit Words(std::string_view line) : rest(line) {}
  bool empty() const { return rest.empty(); }
  std::string_view next() {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return word;
  }
  template <typename Number> bool next(Number &number) {
    std::string_view word = next();
    return !word.empty() && takeNumber(word, number);
  }

private:
  std::string_view rest;
};

/// The picture among a sample's files.
Status readLine(std::string_view line, uint64_t tarBytes, ShardRecord &record) {
  Words words(line);
  while (!words.empty()) {
    const std::string_view ending = words.next();
    uint64_t offset = 0, bytes = 0;
    if (!words.next(offset) || !words.next(bytes) || words.next().empty())
      return damaged("'", excerpt(line), "': expected ENDING OFFSET BYTES NAME of each file");
    if (!isPictureEnding(ending))
      continue;
    if (record.offset != 0)
      return damaged("'", excerpt(line), "': two pictures in a sample");
    if (offset < tarBlock || offset % tarBlock != 0 || bytes > mostRecordBytes ||
        !fits(offset, bytes, tarBytes))
      return damaged("'", excerpt(line), "': no place in a tar file of ", tarBytes, " bytes");
    record.offset = offset;
    record.bytes = static_cast<uint32_t>(bytes);
  }
  return record.offset != 0 ? Status() : damaged("'", excerpt(line), "': a sample has no picture");
}

/// A label for each sample.
Status readLabels(Words words, std::vector<ShardRecord> &records) {
  for (ShardRecord &record : records)
    if (!words.next(record.label) || record.label < 0)
      return damaged("expected a label for each of ", records.size(), " samples");
  return words.empty() ? Status() : damaged("more labels than samples");
}

} // namespace

bool isPictureEnding(std::string_view ending) {
  return ending == "jpg" || ending == "jpeg" || ending == "png" || ending == "webp";
}

std::string tarIndexPath(const std::string &tar) {
  return concat(tar.substr(0, tar.size() - (tar.ends_with(".tar") ? 4 : 0)), ".idx");
}

Result<std::optional<std::vector<ShardRecord>>> readTarIndex(const std::string &tar) {
  using Records = std::optional<std::vector<ShardRecord>>;
  constexpr uint64_t mostBytes = uint64_t(1) << 34;
  const std::string path = tarIndexPath(tar);
  if (!isThere(path))
    return Records();
  DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
  const std::string_view whole(reinterpret_cast<const char *>(content.data()), content.size());
  const size_t last = whole.substr(0, whole.find_last_not_of('\n') + 1).rfind('\n') + 1;
  if (!whole.substr(last).starts_with("dlc "))
    return Records();
  DLC_TRY_ASSIGN(file, File::openForReading(tar));
  std::string_view lines = whole.substr(0, last), labelLine = whole.substr(last);
  Words first(takeLine(lines)), end(takeLine(labelLine));
  uint64_t count = 0, tarBytes = 0;
  end.next();
  if (first.next() != "v1.2" || !first.next(count))
    return damaged(path, ":1: expected v1.2 and the number of samples");
  if (!end.next(tarBytes) || tarBytes != file.size())
    return damaged(path, ": is of a file of ", tarBytes, " bytes, ", tar, " has ", file.size(),
                   "; without the index it is read as it is");
  std::vector<ShardRecord> records;
  // Of those that there are, whatever the number is.
  records.reserve(std::min<uint64_t>(count, lines.size() / 8));
  for (uint64_t line = 2; !lines.empty(); ++line)
    DLC_TRY_IN(readLine(takeLine(lines), tarBytes, records.emplace_back()), path, ":", line);
  if (records.size() != count)
    return damaged(path, ": ", records.size(), " samples, the first line claims ", count);
  DLC_TRY(readLabels(end, records).in(path));
  return Records(std::move(records));
}

void TarIndexText::add(std::string_view ending, uint64_t offset, uint64_t bytes,
                       std::string_view key, uint64_t labelOffset, uint64_t labelBytes,
                       int32_t label) {
  lines += concat(ending, " ", offset, " ", bytes, " ", key, ".", ending, " cls ", labelOffset, " ",
                  labelBytes, " ", key, ".cls\n");
  labels += concat(" ", label);
  ++count;
}

std::string TarIndexText::text(uint64_t tarBytes) const {
  return concat("v1.2 ", count, "\n", lines, "dlc ", tarBytes, labels, "\n");
}

} // namespace dlc::runtime
