// Reading a text piece by piece, and numbering what it is made of. What stays in memory is no
// larger than the file, or a little: numbers in bytes where they fit, else the characters as they
// are.
#include "runtime/Data/TextDataset.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Data/TextUnits.h"

#include <cstring>

namespace dlc::runtime {
namespace {

std::vector<DatasetField> fieldsOf(const std::string &path, dlc_dtype dtype, uint64_t kinds,
                                   bool rareShareLast) {
  const auto field = [&](FieldKind kind) {
    return DatasetField{.kind = kind,
                        .dtype = dtype,
                        .shape = {},
                        .file = path,
                        .rareShareLast = rareShareLast,
                        .kinds = kinds};
  };
  return {field(FieldKind::Text), field(FieldKind::FollowingText)};
}

/// Each number but the last with the one that follows it.
template <typename Number> class TextDataset : public Dataset {
public:
  TextDataset(std::string path, std::vector<Number> numbers, uint64_t kinds, bool rareShareLast)
      : path(std::move(path)), numbers(std::move(numbers)),
        fieldList(
            fieldsOf(this->path, sizeof(Number) == 1 ? DLC_U8 : DLC_I32, kinds, rareShareLast)) {}
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

/// The same of characters of many kinds, of which one byte each is not enough and two are twice as
/// many as most have in UTF-8.
class CharacterDataset : public Dataset {
public:
  CharacterDataset(std::string path, Characters characters, uint64_t kinds)
      : path(std::move(path)), characters(std::move(characters)),
        fieldList(fieldsOf(this->path, DLC_I32, kinds, Characters::rareShareLast)) {}
  const std::string &name() const override { return path; }
  uint64_t size() const override { return count - 1; }
  bool isSequence() const override { return true; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    const uint64_t wanted = index + field;
    std::string_view rest = std::string_view(text).substr(places[wanted / each]);
    for (uint64_t left = wanted % each; left != 0; --left)
      rest.remove_prefix(characterAt(rest).bytes);
    const int32_t number = characters.numberOf(characterAt(rest).code);
    std::memcpy(bytes.data(), &number, sizeof(number));
    return {};
  }

  /// At most so many bytes are added, which take memory as they come.
  void reserve(uint64_t bytes) { text.reserve(bytes); }
  void add(uint32_t code) {
    if (count++ % each == 0)
      places.push_back(text.size());
    appendCharacter(text, code);
  }

private:
  static constexpr uint64_t each = 64;
  std::string path, text;
  Characters characters;
  std::vector<DatasetField> fieldList;
  /// Where each 64th character begins.
  std::vector<uint64_t> places;
  uint64_t count = 0;
};

/// Calls add(unit) for those from `begin` to `end`.
template <typename Units, typename Add>
Status forEachBetween(const File &file, uint64_t begin, uint64_t end, const Add &add) {
  uint64_t at = 0;
  return forEachUnit<Units>(file, [&](const auto &unit) {
    if (at >= begin && at < end)
      add(unit);
    ++at;
  });
}

template <typename Number, typename Units>
Result<std::shared_ptr<const Dataset>> read(const File &file, const Units &units, uint64_t kinds,
                                            uint64_t begin, uint64_t end) {
  std::vector<Number> numbers;
  DLC_TRY(guarded([&] {
            numbers.reserve(end - begin);
            return Status();
          }).in(file.path()));
  DLC_TRY(forEachBetween<Units>(file, begin, end, [&](const auto &unit) {
    numbers.push_back(static_cast<Number>(units.numberOf(unit)));
  }));
  return std::shared_ptr<const Dataset>(std::make_shared<TextDataset<Number>>(
      file.path(), std::move(numbers), kinds, Units::rareShareLast));
}

/// Of more kinds than a byte has numbers.
Result<std::shared_ptr<const Dataset>> readMany(const File &file, Words &words, uint64_t kinds,
                                                uint64_t begin, uint64_t end) {
  return read<int32_t>(file, words, kinds, begin, end);
}
Result<std::shared_ptr<const Dataset>> readMany(const File &file, Characters &characters,
                                                uint64_t kinds, uint64_t begin, uint64_t end) {
  auto data = std::make_shared<CharacterDataset>(file.path(), std::move(characters), kinds);
  DLC_TRY(guarded([&] {
            data->reserve(std::min(file.size(), (end - begin) * longestCharacter));
            return Status();
          }).in(file.path()));
  DLC_TRY(forEachBetween<Characters>(file, begin, end, [&](uint32_t code) { data->add(code); }));
  return std::shared_ptr<const Dataset>(std::move(data));
}

/// Twice through the file: to number what occurs, and to write the numbers of the split down.
template <typename Units>
Result<std::shared_ptr<const Dataset>> open(const File &file, Split split) {
  Units units;
  uint64_t count = 0;
  DLC_TRY(forEachUnit<Units>(file, [&](const auto &unit) {
    units.count(unit);
    ++count;
  }));
  const size_t kinds = units.order().size();
  const uint64_t held = count - count / 10;
  const uint64_t begin = split == Split::Test ? held : 0, end = split == Split::Test ? count : held;
  if (end - begin < 2)
    return damaged(file.path(), ": ", count, Units::name,
                   " are no text to learn from and a tenth of it to test with");
  constexpr size_t mostInBytes = 256;
  return kinds <= mostInBytes ? read<uint8_t>(file, units, kinds, begin, end)
                              : readMany(file, units, kinds, begin, end);
}

} // namespace

Result<File> openText(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  const std::string_view kind = fileKind(file);
  if (!kind.empty() && !isTextKind(kind))
    return damaged(path, ": is ", kind, ", expected text in UTF-8");
  return file;
}

Result<std::shared_ptr<const Dataset>> openTextDataset(const std::string &path, TextUnit unit,
                                                       Split split) {
  DLC_TRY_ASSIGN(file, openText(path));
  return unit == TextUnit::Words ? open<Words>(file, split) : open<Characters>(file, split);
}

} // namespace dlc::runtime
