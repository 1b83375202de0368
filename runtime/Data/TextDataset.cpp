// Reading a text, and numbering what it is made of.
#include "runtime/Data/TextDataset.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace dlc::runtime {
namespace {

/// Each number but the last with the one that follows it.
class TextDataset : public Dataset {
public:
  TextDataset(std::string path, std::vector<int32_t> numbers, bool rareShareLast)
      : path(std::move(path)), numbers(std::move(numbers)) {
    fieldList = {{FieldKind::Text, DLC_I32, {}, this->path, {}, rareShareLast},
                 {FieldKind::FollowingText, DLC_I32, {}, this->path, {}, rareShareLast}};
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return numbers.size() - 1; }
  bool isSequence() const override { return true; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return reinterpret_cast<const std::byte *>(&numbers[index + field]);
  }

private:
  std::string path;
  std::vector<int32_t> numbers;
  std::vector<DatasetField> fieldList;
};

/// The length of the UTF-8 sequence that `text` begins with; 0 if it begins with none.
size_t sequenceLength(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = first < 0x80             ? 1
                        : (first & 0xe0) == 0xc0 ? 2
                        : (first & 0xf0) == 0xe0 ? 3
                        : (first & 0xf8) == 0xf0 ? 4
                                                 : 0;
  if (length == 0 || length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80)
      return 0;
  return length;
}

Result<std::vector<std::string_view>> splitCharacters(const std::string &path,
                                                      std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequenceLength(text.substr(at));
    if (length == 0)
      return damaged(path, ": no UTF-8 text: byte ", at, " begins no character");
    characters.push_back(text.substr(at, length));
    at += length;
  }
  return characters;
}

std::vector<std::string_view> splitWords(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\v\f";
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      words.push_back("<eos>");
      ++at;
    } else if (spaces.find(text[at]) != spaces.npos) {
      ++at;
    } else {
      const size_t end = std::min(text.find_first_of(" \t\r\v\f\n", at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

/// The number of each unit that occurs.
std::map<std::string_view, int32_t> numberUnits(const std::vector<std::string_view> &units,
                                                TextUnit unit) {
  std::map<std::string_view, uint64_t> counts;
  for (std::string_view each : units)
    ++counts[each];
  std::vector<std::pair<std::string_view, uint64_t>> order(counts.begin(), counts.end());
  // The order of UTF-8's bytes is that of the code points.
  if (unit == TextUnit::Words)
    std::stable_sort(order.begin(), order.end(),
                     [](const auto &a, const auto &b) { return a.second > b.second; });
  std::map<std::string_view, int32_t> numbers;
  for (const auto &[each, count] : order)
    numbers[each] = static_cast<int32_t>(numbers.size());
  return numbers;
}

} // namespace

Result<std::shared_ptr<const Dataset>> openTextDataset(const std::string &path, TextUnit unit,
                                                       Split split) {
  constexpr uint64_t mostBytes = uint64_t(1) << 31;
  DLC_TRY_ASSIGN(bytes, readWholeFile(path, mostBytes));
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  const std::string_view kind =
      fileKind(std::span(bytes).first(std::min(bytes.size(), fileKindBytes)));
  if (!kind.empty() && !isTextKind(kind))
    return damaged(path, ": is ", kind, ", expected text in UTF-8");
  std::vector<std::string_view> units;
  if (unit == TextUnit::Words) {
    units = splitWords(text);
  } else {
    DLC_TRY_ASSIGN(characters, splitCharacters(path, text));
    units = std::move(characters);
  }
  const auto numbers = numberUnits(units, unit);
  const size_t held = units.size() - units.size() / 10;
  const size_t begin = split == Split::Test ? held : 0;
  const size_t end = split == Split::Test ? units.size() : held;
  if (end - begin < 2)
    return damaged(path, ": ", units.size(), unit == TextUnit::Words ? " words" : " characters",
                   " are no text to learn from and a tenth of it to test with");
  std::vector<int32_t> part;
  part.reserve(end - begin);
  for (size_t i = begin; i < end; ++i)
    part.push_back(numbers.at(units[i]));
  return std::shared_ptr<const Dataset>(
      std::make_shared<TextDataset>(path, std::move(part), unit == TextUnit::Words));
}

} // namespace dlc::runtime
