// Reading a text piece by piece, and numbering what it is made of. A text of a gigabyte is never in
// memory as a whole: its numbers are, in bytes where they fit.
#include "runtime/Data/TextDataset.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace dlc::runtime {
namespace {

/// Each number but the last with the one that follows it.
template <typename Number> class TextDataset : public Dataset {
public:
  TextDataset(std::string path, std::vector<Number> numbers, bool rareShareLast)
      : path(std::move(path)), numbers(std::move(numbers)) {
    constexpr dlc_dtype dtype = sizeof(Number) == 1 ? DLC_U8 : DLC_I32;
    fieldList = {{FieldKind::Text, dtype, {}, this->path, {}, rareShareLast},
                 {FieldKind::FollowingText, dtype, {}, this->path, {}, rareShareLast}};
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
  std::vector<Number> numbers;
  std::vector<DatasetField> fieldList;
};

/// Calls use(part, offset, isLast) with a file's text, as File::readPieces() does.
template <typename Use> Status forEachPart(const File &file, const Use &use) {
  return file.readPieces(uint64_t(1) << 22, [&](auto piece, uint64_t offset) {
    const std::string_view text(reinterpret_cast<const char *>(piece.data()), piece.size());
    return use(text, offset, offset + piece.size() == file.size());
  });
}

/// A character of a text, and its bytes; 0 bytes where `text` begins with none.
struct Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

Character characterAt(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80)
    return {first, 1};
  const size_t length = (first & 0xe0) == 0xc0 ? 2 : (first & 0xf0) == 0xe0 ? 3 : 4;
  if (length > text.size() || first < 0xc0 || first >= 0xf8)
    return {};
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80)
      return {};
    code = code << 6 | (next & 0x3f);
  }
  // What has a shorter form is none.
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return code < least[length] ? Character{} : Character{code, length};
}

/// Numbers characters in the order of their code points, which is that of their bytes.
class Characters {
public:
  static constexpr std::string_view name = " characters";
  template <typename Use> static Status forEach(const File &file, const Use &use) {
    return forEachPart(file,
                       [&](std::string_view text, uint64_t offset, bool isLast) -> Result<size_t> {
                         constexpr size_t longest = 4;
                         size_t at = 0;
                         while (at < text.size() && (isLast || text.size() - at >= longest)) {
                           const Character found = characterAt(text.substr(at));
                           if (found.bytes == 0)
                             return damaged(file.path(), ": no UTF-8 text: byte ", offset + at,
                                            " begins no character");
                           use(found.code);
                           at += found.bytes;
                         }
                         return at;
                       });
  }

  void count(uint32_t code) { ++entries[code]; }
  int32_t order() {
    int32_t next = 0;
    for (uint64_t &entry : entries)
      if (entry != 0)
        entry = static_cast<uint64_t>(next++);
    return next;
  }
  int32_t numberOf(uint32_t code) const { return static_cast<int32_t>(entries[code]); }

private:
  /// By code point: how often there are, then their numbers.
  std::vector<uint64_t> entries = std::vector<uint64_t>(1 << 21);
};

/// Numbers words: the most frequent first, those that are equally frequent by their bytes.
class Words {
public:
  static constexpr std::string_view name = " words";
  template <typename Use> static Status forEach(const File &file, const Use &use) {
    return forEachPart(file, [&](std::string_view text, uint64_t, bool isLast) -> Result<size_t> {
      constexpr std::string_view spaces = " \t\r\v\f", ends = " \t\r\v\f\n";
      size_t at = 0;
      while (at < text.size()) {
        if (text[at] == '\n') {
          use(std::string_view("<eos>"));
          ++at;
        } else if (spaces.find(text[at]) != spaces.npos) {
          ++at;
        } else {
          const size_t end = text.find_first_of(ends, at);
          if (end == text.npos && !isLast)
            return at;
          const std::string_view word = text.substr(at, end - at);
          use(word);
          at += word.size();
        }
      }
      return at;
    });
  }

  void count(std::string_view word) {
    if (const auto found = entries.find(word); found != entries.end())
      ++found->second;
    else
      entries.emplace(word, 1);
  }
  int32_t order() {
    std::vector<std::pair<const std::string, uint64_t> *> all;
    for (auto &entry : entries)
      all.push_back(&entry);
    std::ranges::sort(all, [](const auto *a, const auto *b) {
      return a->second != b->second ? a->second > b->second : a->first < b->first;
    });
    for (size_t i = 0; i < all.size(); ++i)
      all[i]->second = i;
    return static_cast<int32_t>(all.size());
  }
  int32_t numberOf(std::string_view word) const {
    return static_cast<int32_t>(entries.find(word)->second);
  }

private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  /// How often there are, then their numbers.
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> entries;
};

/// The numbers from `begin` to `end`.
template <typename Number, typename Units>
Result<std::shared_ptr<const Dataset>> read(const File &file, const Units &units, uint64_t begin,
                                            uint64_t end, bool rareShareLast) {
  std::vector<Number> numbers;
  DLC_TRY(guarded([&] {
            numbers.reserve(end - begin);
            return Status();
          }).in(file.path()));
  uint64_t at = 0;
  DLC_TRY(Units::forEach(file, [&](const auto &unit) {
    if (at >= begin && at < end)
      numbers.push_back(static_cast<Number>(units.numberOf(unit)));
    ++at;
  }));
  return std::shared_ptr<const Dataset>(
      std::make_shared<TextDataset<Number>>(file.path(), std::move(numbers), rareShareLast));
}

/// Twice through the file: to number what occurs, and to write the numbers of the split down.
template <typename Units>
Result<std::shared_ptr<const Dataset>> open(const File &file, Split split, bool rareShareLast) {
  Units units;
  uint64_t count = 0;
  DLC_TRY(Units::forEach(file, [&](const auto &unit) {
    units.count(unit);
    ++count;
  }));
  const int32_t kinds = units.order();
  const uint64_t held = count - count / 10;
  const uint64_t begin = split == Split::Test ? held : 0, end = split == Split::Test ? count : held;
  if (end - begin < 2)
    return damaged(file.path(), ": ", count, Units::name,
                   " are no text to learn from and a tenth of it to test with");
  constexpr int32_t mostInBytes = 256;
  return kinds <= mostInBytes ? read<uint8_t>(file, units, begin, end, rareShareLast)
                              : read<int32_t>(file, units, begin, end, rareShareLast);
}

} // namespace

Result<std::shared_ptr<const Dataset>> openTextDataset(const std::string &path, TextUnit unit,
                                                       Split split) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  std::vector<std::byte> first(std::min<uint64_t>(file.size(), fileKindBytes));
  DLC_TRY(file.readAt(0, first));
  const std::string_view kind = fileKind(first);
  if (!kind.empty() && !isTextKind(kind))
    return damaged(path, ": is ", kind, ", expected text in UTF-8");
  return unit == TextUnit::Words ? open<Words>(file, split, /*rareShareLast=*/true)
                                 : open<Characters>(file, split, /*rareShareLast=*/false);
}

} // namespace dlc::runtime
