// Reading a text piece by piece, and numbering what it is made of. A text of a gigabyte is never in
// memory as a whole: its numbers are, in bytes where they fit.
#include "runtime/Data/TextDataset.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Data/TextUnits.h"

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

/// The numbers from `begin` to `end`.
template <typename Number, typename Units>
Result<std::shared_ptr<const Dataset>> read(const File &file, const Units &units, uint64_t begin,
                                            uint64_t end) {
  std::vector<Number> numbers;
  DLC_TRY(guarded([&] {
            numbers.reserve(end - begin);
            return Status();
          }).in(file.path()));
  uint64_t at = 0;
  DLC_TRY(forEachUnit<Units>(file, [&](const auto &unit) {
    if (at >= begin && at < end)
      numbers.push_back(static_cast<Number>(units.numberOf(unit)));
    ++at;
  }));
  return std::shared_ptr<const Dataset>(
      std::make_shared<TextDataset<Number>>(file.path(), std::move(numbers), Units::rareShareLast));
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
  return kinds <= mostInBytes ? read<uint8_t>(file, units, begin, end)
                              : read<int32_t>(file, units, begin, end);
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
