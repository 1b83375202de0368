// 5,000 broken data files from a fixed seed: IDX, plain and compressed, checkpoints, tensors as
// inputs. Bytes, fields of headers and lengths are broken, headers are told what files do not hold.
// Each is read, or refused in one short printable line that begins with the file's name.
#include "dlc/checkpoint.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/IdxDataset.h"
#include "runtime/Data/Safetensors.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <zlib.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

using Bytes = std::vector<std::byte>;

class Breaker {
public:
  explicit Breaker(uint32_t seed) : random(seed) {}
  size_t below(size_t limit) { return limit == 0 ? 0 : random() % limit; }

  /// One to three damages, half of them within the first `header` bytes.
  Bytes operator()(Bytes content, size_t header) {
    for (size_t i = 0, count = 1 + below(3); i < count && !content.empty(); ++i)
      once(content, below(2) ? std::min(header, content.size()) : content.size());
    return content;
  }

private:
  void once(Bytes &content, size_t reach) {
    const size_t at = below(reach);
    switch (below(7)) {
    case 0:
      content[at] ^= std::byte(1u << below(8));
      break;
    case 1:
      content[at] = std::byte(below(256));
      break;
    case 2:
      number(content, at);
      break;
    case 3:
      content.resize(at);
      break;
    case 4:
      content.insert(content.begin() + ptrdiff_t(at), 1 + below(40), std::byte(below(256)));
      break;
    case 5:
      content.erase(content.begin() + ptrdiff_t(at),
                    content.begin() + ptrdiff_t(at + below(content.size() - at)));
      break;
    default:
      word(content, at);
    }
  }

  /// Limits of numbers, of either byte order and width.
  void number(Bytes &content, size_t at) {
    static constexpr uint64_t numbers[] = {
        0, 1, 0x7f, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1ull << 62, 1ull << 63, ~0ull};
    uint64_t value = numbers[below(std::size(numbers))];
    const size_t size = std::min<size_t>(below(2) ? 4 : 8, content.size() - at);
    auto *bytes = reinterpret_cast<std::byte *>(&value);
    if (below(2))
      std::reverse(bytes, bytes + size);
    std::copy_n(bytes, size, content.begin() + ptrdiff_t(at));
  }

  /// What means something in JSON.
  void word(Bytes &content, size_t at) {
    static const std::string words[] = {
        "[",    "{",     "]",        "}",      "\"",
        ":",    ",",     "null",     "-1",     "1e999",
        "F64",  "U8",    "\\u0000",  "\xff",   "18446744073709551615",
        "9999", "shape", "\x1b[31m", "[[[[[[", "__metadata__"};
    const std::string &word = words[below(std::size(words))];
    const size_t size = std::min(word.size(), content.size() - at);
    std::memcpy(content.data() + at, word.data(), size);
  }

  std::mt19937 random;
};

/// How many of 1,250 broken variants of a file were refused.
template <typename Read>
int countRefused(Breaker &breaker, const TemporaryFolder &folder, const Bytes &good, size_t header,
                 const Read &read) {
  const std::string path = folder.path("broken");
  int refused = 0;
  for (int round = 0; round < 1250; ++round) {
    writeFile(path, breaker(good, header));
    const Status status = read(path);
    if (status.ok())
      continue;
    ++refused;
    const std::string message(status.message());
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    EXPECT_TRUE(isPrintableUtf8(message)) << message;
    EXPECT_LT(message.size(), path.size() + 400) << message;
  }
  return refused;
}

Bytes idxFile() {
  Bytes content = {std::byte(0), std::byte(0), std::byte(8), std::byte(3)};
  for (unsigned extent : {50u, 4u, 4u})
    for (unsigned shift : {24u, 16u, 8u, 0u})
      content.push_back(std::byte(extent >> shift & 255));
  for (unsigned i = 0; i < 800; ++i)
    content.push_back(std::byte(i * 37));
  return content;
}

TEST(BrokenData, IdxFiles) {
  TemporaryFolder folder;
  Breaker breaker(5);
  auto read = [](const std::string &path) { return readIdxFile(path).takeStatus(); };
  EXPECT_GT(countRefused(breaker, folder, idxFile(), 16, read), 600);
}

// Half of them have a sound stream of broken content.
TEST(BrokenData, CompressedIdxFiles) {
  TemporaryFolder folder;
  Breaker breaker(6);
  const std::string packed = folder.path("packed");
  auto compress = [&](const Bytes &content) {
    gzFile file = gzopen(packed.c_str(), "wb");
    gzwrite(file, content.data(), unsigned(content.size()));
    gzclose(file);
    return readFile(packed);
  };
  auto read = [](const std::string &path) { return readIdxFile(path).takeStatus(); };
  auto readPacked = [&](const std::string &path) {
    if (breaker.below(2))
      writeFile(path, compress(readFile(path)));
    return readIdxFile(path).takeStatus();
  };
  EXPECT_GT(countRefused(breaker, folder, compress(idxFile()), 30, read), 600);
  EXPECT_GT(countRefused(breaker, folder, idxFile(), 16, readPacked), 400);
}

TEST(BrokenData, Checkpoints) {
  TemporaryFolder folder;
  Breaker breaker(7);
  auto module = Module::load(writeSmallModule(folder)).take();
  auto state = State::create(module, openCpu({.threads = 1}).take(), 1).take();
  const std::string good = folder.path("good");
  ASSERT_TRUE(saveVariables(*state, good, {{"step", "12"}, {"model", "small"}}).ok());
  auto load = [&](const std::string &path) {
    return loadVariables(*state, path, LoadMode::Everything).takeStatus();
  };
  EXPECT_GT(countRefused(breaker, folder, readFile(good), 500, load), 600);
}

TEST(BrokenData, TensorsAsInputs) {
  TemporaryFolder folder;
  Breaker breaker(8);
  const std::string good = folder.path("good");
  auto writer = SafetensorsWriter::create(good,
                                          {{"image", DLC_F32, {8, 1, 4, 4}, 0, 0},
                                           {"label", DLC_I32, {8}, 0, 0},
                                           {"none", DLC_U8, {0, 3}, 0, 0}},
                                          {});
  ASSERT_TRUE(writer.ok() && writer->append(Bytes(8 * 16 * 4 + 8 * 4)).ok());
  ASSERT_TRUE(writer->commit().ok());
  auto readAll = [](const std::string &path) -> Status {
    DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
    for (const StoredTensor &tensor : file.tensors()) {
      Bytes content(tensor.bytes);
      DLC_TRY(file.read(tensor, content));
    }
    return {};
  };
  EXPECT_GT(countRefused(breaker, folder, readFile(good), 300, readAll), 600);
}

// A file of four megabytes may hold four gigabytes of zeros, but no header makes a small file do
// so.
TEST(BrokenData, HeadersAskForNoMoreThanAFileHolds) {
  TemporaryFolder folder;
  Bytes content = idxFile();
  std::fill_n(content.begin() + 4, 4, std::byte(0xff));
  const std::string path = folder.path("x");
  writeFile(path, content);
  EXPECT_EQ(readIdxFile(path).status().message(),
            path + ": the IDX header claims 68719476720 elements, the file holds 800");
}

} // namespace
