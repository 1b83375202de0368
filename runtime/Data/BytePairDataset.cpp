// Tokens are made once, as the text is read piece by piece; how many there are is known at its end.
#include "runtime/Data/BytePairDataset.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/TextUnits.h"

#include <cstring>
#include <deque>

namespace dlc::runtime {
namespace {

/// Each number but the last with the one that follows it. In blocks, which do not move as there are
/// more.
template <typename Number> class BytePairDataset : public Dataset {
public:
  BytePairDataset(std::string path, std::deque<Number> numbers)
      : path(std::move(path)), numbers(std::move(numbers)) {
    fieldList = {{FieldKind::Text, DLC_I32, {}, this->path},
                 {FieldKind::FollowingText, DLC_I32, {}, this->path}};
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return numbers.size() - 1; }
  bool isSequence() const override { return true; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    const auto number = static_cast<int32_t>(numbers[index + field]);
    std::memcpy(bytes.data(), &number, sizeof(number));
    return {};
  }

private:
  std::string path;
  std::deque<Number> numbers;
  std::vector<DatasetField> fieldList;
};

template <typename Number>
Result<std::shared_ptr<const Dataset>> read(const File &file, const BytePairs &pairs, Split split) {
  BytePairEncoder encoder(pairs);
  std::deque<Number> numbers;
  DLC_TRY(forEachPart(file, [&](std::string_view text, uint64_t, bool isLast) -> Result<size_t> {
    return encoder.encode(text, isLast,
                          [&](int32_t number) { numbers.push_back(static_cast<Number>(number)); });
  }));
  const uint64_t count = numbers.size(), held = count - count / 10;
  const auto border = numbers.begin() + static_cast<std::ptrdiff_t>(held);
  if (split == Split::Test)
    numbers.erase(numbers.begin(), border);
  else
    numbers.erase(border, numbers.end());
  if (numbers.size() < 2)
    return damaged(file.path(), ": ", count,
                   " tokens are no text to learn from and a tenth of it to test with");
  return std::shared_ptr<const Dataset>(
      std::make_shared<BytePairDataset<Number>>(file.path(), std::move(numbers)));
}

} // namespace

std::vector<std::string> bytePairFiles(const std::string &path, Split) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  return {path, folder + "vocab.json", folder + "merges.txt"};
}

bool hasBytePairSplit(const std::string &path, Split) { return isThere(path); }

Result<std::unique_ptr<const BytePairs>> openBytePairs(const std::string &path) {
  const std::vector<std::string> files = bytePairFiles(path, Split::Train);
  return BytePairs::open(files[1], files[2]);
}

Result<std::shared_ptr<const Dataset>> openBytePairDataset(const std::string &path, Split split) {
  DLC_TRY_ASSIGN(file, openText(path));
  DLC_TRY_ASSIGN(pairs, openBytePairs(path));
  return pairs->size() <= uint64_t(1) << 16 ? read<uint16_t>(file, *pairs, split)
                                            : read<int32_t>(file, *pairs, split);
}

} // namespace dlc::runtime
