// Numbers in mapped files: ranks of a machine share the pages, and a file may be larger than
// memory.
#include "runtime/Data/TokenDataset.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/FileMapping.h"
#include "runtime/Core/Support.h"

#include <cstring>

namespace dlc::runtime {
namespace {

/// The numbers from `begin` to `end`, each but the last with the one that follows it.
class TokenDataset : public Dataset {
public:
  TokenDataset(FileMapping file, size_t numberBytes, uint64_t begin, uint64_t end)
      : file(std::move(file)), numberBytes(numberBytes), begin(begin), end(end) {
    fieldList = {{FieldKind::Text, DLC_I32, {}, this->file.path()},
                 {FieldKind::FollowingText, DLC_I32, {}, this->file.path()}};
  }
  const std::string &name() const override { return file.path(); }
  uint64_t size() const override { return (end - begin) / numberBytes - 1; }
  bool isSequence() const override { return true; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    uint32_t number = 0;
    std::memcpy(&number, file.bytes().data() + begin + (index + field) * numberBytes, numberBytes);
    if (number > INT32_MAX)
      return damaged(file.path(), ": number ", index + field, " is ", number,
                     ", more than any vocabulary has");
    std::memcpy(bytes.data(), &number, sizeof(number));
    return {};
  }

private:
  FileMapping file;
  size_t numberBytes;
  uint64_t begin, end;
  std::vector<DatasetField> fieldList;
};

/// What llm.c writes before the numbers: 256 words, of which three say something.
struct Header {
  static constexpr uint64_t bytes = 1024;
  uint32_t magic, version, count;
};

/// Where the numbers of a file begin, and how many bytes each has.
struct Numbers {
  uint64_t begin = 0;
  size_t bytes = sizeof(uint16_t);
};

Result<Numbers> numbersIn(const FileMapping &file) {
  constexpr uint32_t gpt2 = 20240520, llama3 = 20240801;
  const std::span<const std::byte> content = file.bytes();
  Header header = {};
  if (content.size() >= Header::bytes)
    std::memcpy(&header, content.data(), sizeof(header));
  Numbers numbers;
  if (header.magic == gpt2 || header.magic == llama3) {
    numbers = {Header::bytes, header.magic == gpt2 ? sizeof(uint16_t) : sizeof(uint32_t)};
    if (content.size() - numbers.begin != header.count * numbers.bytes)
      return damaged(file.path(), ": the header claims ", header.count, " numbers of ",
                     numbers.bytes * 8, " bits, ", content.size() - numbers.begin, " bytes follow");
    return numbers;
  }
  const std::string_view kind = fileKind(content.first(std::min(content.size(), fileKindBytes)));
  if (!kind.empty())
    return damaged(file.path(), ": is ", kind, ", expected numbers of 16 bits",
                   isTextKind(kind) ? "; text:FILE takes a text" : "");
  if (content.size() % numbers.bytes != 0)
    return damaged(file.path(), ": ", content.size(), " bytes are no numbers of 16 bits");
  return numbers;
}

} // namespace

std::vector<std::string> tokenFiles(const std::string &path, Split split) {
  if (!isFolder(path))
    return {path};
  return {concat(path, split == Split::Train ? "/train.bin" : "/val.bin")};
}

bool hasTokenSplit(const std::string &path, Split split) {
  return isThere(tokenFiles(path, split)[0]);
}

Result<std::shared_ptr<const Dataset>> openTokenDataset(const std::string &path, Split split) {
  DLC_TRY_ASSIGN(file, FileMapping::open(tokenFiles(path, split)[0]));
  DLC_TRY_ASSIGN(numbers, numbersIn(file));
  const uint64_t count = (file.bytes().size() - numbers.begin) / numbers.bytes;
  const bool whole = isFolder(path);
  const uint64_t held = whole ? count : count - count / 10;
  const uint64_t first = split == Split::Test && !whole ? held : 0,
                 last = split == Split::Test ? count : held;
  if (last - first < 2)
    return damaged(file.path(), ": ", count, " numbers are nothing to learn from",
                   whole ? "" : ", and a tenth of it to test with");
  return std::shared_ptr<const Dataset>(std::make_shared<TokenDataset>(
      std::move(file), numbers.bytes, numbers.begin + first * numbers.bytes,
      numbers.begin + last * numbers.bytes));
}

} // namespace dlc::runtime
