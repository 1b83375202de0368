// Tokens are made once, as the text is read piece by piece; how many there are is known at its end.
#include "runtime/Data/BytePairDataset.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/TextUnits.h"

#include <cstring>
#include <memory>

namespace dlc::runtime {
namespace {

/// Numbers of 16 or 32 bits, in blocks, which do not move as there are more.
class Numbers {
public:
  explicit Numbers(uint64_t kinds) : bytes(kinds <= uint64_t(1) << 16 ? 2 : 4) {}
  uint64_t size() const { return end - begin; }
  /// Those that were added, whether they are still there or not.
  uint64_t added() const { return end; }
  void add(int32_t number) {
    if (end % blockNumbers == 0)
      blocks.push_back(std::make_unique<std::byte[]>(blockNumbers * bytes));
    std::memcpy(place(end++), &number, bytes);
  }
  int32_t operator[](uint64_t index) const {
    int32_t number = 0;
    std::memcpy(&number, place(begin + index), bytes);
    return number;
  }
  void dropUpTo(uint64_t first) {
    for (uint64_t i = begin / blockNumbers; i < first / blockNumbers; ++i)
      blocks[i].reset();
    begin = first;
  }
  void dropFrom(uint64_t last) {
    end = last;
    blocks.resize((last + blockNumbers - 1) / blockNumbers);
  }

private:
  static constexpr uint64_t blockNumbers = 1 << 15;
  std::byte *place(uint64_t at) const {
    return blocks[at / blockNumbers].get() + at % blockNumbers * bytes;
  }

  size_t bytes;
  std::vector<std::unique_ptr<std::byte[]>> blocks;
  uint64_t begin = 0, end = 0;
};

/// Each number but the last with the one that follows it.
class BytePairDataset : public Dataset {
public:
  BytePairDataset(std::string path, Numbers numbers)
      : path(std::move(path)), numbers(std::move(numbers)) {
    fieldList = {{FieldKind::Text, DLC_I32, {}, this->path},
                 {FieldKind::FollowingText, DLC_I32, {}, this->path}};
  }
  const std::string &name() const override { return path; }
  uint64_t size() const override { return numbers.size() - 1; }
  bool isSequence() const override { return true; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    const int32_t number = numbers[index + field];
    std::memcpy(bytes.data(), &number, sizeof(number));
    return {};
  }

private:
  std::string path;
  Numbers numbers;
  std::vector<DatasetField> fieldList;
};

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
  BytePairEncoder encoder(*pairs);
  Numbers numbers(pairs->size());
  const bool tests = split == Split::Test;
  auto held = [&] { return numbers.added() - numbers.added() / 10; };
  auto take = [&](std::string_view text, uint64_t offset, bool isLast) -> Result<size_t> {
    // What is one piece so far is kept, and looked at again with what follows.
    constexpr size_t longest = size_t(1) << 24;
    const size_t taken = encoder.encode(text, isLast, [&](int32_t number) { numbers.add(number); });
    if (!isLast && text.size() - taken > longest)
      return damaged(path, ": more than ", longest, " bytes from byte ", offset + taken,
                     " on are all letters, or all numbers; is it a text?");
    // More tokens only move the border on.
    if (tests)
      numbers.dropUpTo(held());
    return taken;
  };
  DLC_TRY(forEachPart(file, take));
  const uint64_t count = numbers.added();
  if (!tests)
    numbers.dropFrom(held());
  if (numbers.size() < 2)
    return damaged(path, ": ", count,
                   " tokens are no text to learn from and a tenth of it to test with");
  return std::shared_ptr<const Dataset>(
      std::make_shared<BytePairDataset>(path, std::move(numbers)));
}

} // namespace dlc::runtime
