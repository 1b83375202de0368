// LMDB databases: those that make.py has packed, those that are written here, and damaged ones.
#include "runtime/Data/Formats/Messages.h"
#include "runtime/Data/Formats/RecordWriter.h"
#include "runtime/Data/Lmdb/Plugin.h"
#include "test/runtime/Data/PackedInputs.h"

#include <random>

using namespace dlc::runtime;
using namespace dlc::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

auto bytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string rawOf(const Dataset &dataset, uint64_t index) {
  std::vector<std::byte> room;
  const auto at = sampleAt(dataset, index, 0, room);
  return at.ok()
             ? std::string(reinterpret_cast<const char *>(*at), sampleBytes(dataset.fields()[0]))
             : std::string(at.status().message());
}

/// A database of these values, in FOLDER/data.mdb.
void writeValues(const std::string &folder, const std::vector<std::string> &values) {
  fs::create_directories(folder);
  auto writer = (*openLmdbPlugin())->create(folder);
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_TRUE((*writer)->add("k" + std::to_string(i), bytesOf(values[i])).ok());
  ASSERT_TRUE((*writer)->finish().ok());
}

TEST(Lmdb, ReadsThoseOfOthers) {
  expectPacked("lmdb:" + packed("encoded.lmdb"));
  expectPacked("lmdb:" + packed("encoded.lmdb") + "/");
  expectPacked("lmdb:" + packed("encoded.lmdb/data.mdb"));
  TemporaryFolder folder;
  for (const char *name : {"ilsvrc12_train_lmdb", "ilsvrc12_val_lmdb"})
    fs::copy(packed("encoded.lmdb"), folder.path(name));
  const std::string data = "lmdb:" + folder.root();
  expectPacked(data);
  EXPECT_TRUE(hasSplit(data, Split::Test));
  EXPECT_FALSE(hasSplit("lmdb:" + folder.path("ilsvrc12_train_lmdb"), Split::Test));
  fs::copy(packed("encoded.lmdb"), folder.path("other_train_lmdb"));
  EXPECT_EQ(openingOf(data), folder.root() + ": has 2 databases, as " +
                                 folder.path("ilsvrc12_train_lmdb") + " and " +
                                 folder.path("other_train_lmdb") +
                                 ", expected one, or one each with train and val in its name");
  EXPECT_TRUE(openingOf(packed("encoded.lmdb"))
                  .ends_with("did you mean 'lmdb:" + packed("encoded.lmdb") + "'?"));
}

TEST(Lmdb, ReadsPixels) {
  const auto bytes = *openDataset("lmdb:" + packed("raw.lmdb"), Split::Train);
  EXPECT_EQ(bytes->fields()[0].dtype, DLC_U8);
  EXPECT_FALSE(bytes->fields()[0].pictures);
  EXPECT_EQ(bytes->fields()[0].shape, (std::vector<uint64_t>{2, 3, 5}));
  ASSERT_EQ(bytes->size(), 4u);
  for (uint64_t i = 0; i < 4; ++i) {
    std::string expected;
    for (uint64_t j = 0; j < 30; ++j)
      expected += static_cast<char>(7 * i + j);
    EXPECT_EQ(rawOf(*bytes, i), expected);
    EXPECT_EQ(labelText(*bytes, i), std::to_string(i));
  }
  EXPECT_TRUE(pictureOf(*bytes, 0).ends_with(": its samples are no pictures"));
  const auto floats = *openDataset("lmdb:" + packed("floats.lmdb"), Split::Train);
  EXPECT_EQ(floats->fields()[0].dtype, DLC_F32);
  for (uint64_t i = 0; i < 3; ++i) {
    const float expected[] = {float(i), 0.5f, -1, 1e9f};
    EXPECT_EQ(rawOf(*floats, i),
              std::string(reinterpret_cast<const char *>(expected), sizeof(expected)));
  }
}

TEST(Lmdb, NamesWhatIsDamaged) {
  TemporaryFolder folder;
  const std::string path = folder.root() + "/data.mdb", data = "lmdb:" + folder.root();
  const std::string raw =
      datumMessage({.channels = 1, .height = 2, .width = 2, .data = bytesOf("abcd"), .label = 1});
  const std::string other =
      datumMessage({.channels = 1, .height = 4, .width = 1, .data = bytesOf("abcd"), .label = 1});
  const std::string negative =
      datumMessage({.channels = 1, .height = 2, .width = 2, .data = bytesOf("abcd"), .label = -1});
  const std::string less =
      datumMessage({.channels = 1, .height = 2, .width = 3, .data = bytesOf("abcd"), .label = 1});
  const std::string huge = datumMessage(
      {.channels = 0x7fffffff, .height = 0x7fffffff, .width = 0x7fffffff, .data = bytesOf("abcd")});
  const std::string text = datumMessage({.data = bytesOf("text"), .label = 1, .encoded = true});
  const std::string first = ": record 'k0': ", second = ": record 'k1': ";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, ": there are no samples in it"},
      {{"\xff\xff"}, first + "no Datum of Caffe: its fields are damaged or end early"},
      {{"8"}, first + "no Datum of Caffe: its fields are damaged or end early"},
      {{raw, "\x22\x7f"}, second + "no Datum of Caffe: its fields are damaged or end early"},
      {{less}, first + "has 4 bytes and 0 floats for 1 x 2 x 3 pixels"},
      {{raw, less}, second + "has 4 bytes and 0 floats for 1 x 2 x 3 pixels"},
      {{huge}, first + "has 4 bytes and 0 floats for 2147483647 x 2147483647 x 2147483647 pixels"},
      {{raw, other}, second + "is u8[1, 4, 1], the first is u8[1, 2, 2]"},
      {{raw, text}, second + "is a picture, the first is u8[1, 2, 2]"},
      {{text, raw}, second + "is u8[1, 2, 2], the first is a picture"},
      {{raw, negative}, second + "has label -1, expected a whole number from 0"},
      {{text}, first + "is text, expected JPEG, PNG or WebP"},
      {{""}, first + "is empty, expected JPEG, PNG or WebP"}};
  for (const auto &[values, message] : cases) {
    writeValues(folder.root(), values);
    std::string said = openingOf(data);
    if (said == "opened") {
      const auto dataset = *openDataset(data, Split::Train);
      for (uint64_t i = 0; i < dataset->size(); ++i) {
        const std::string read =
            dataset->fields()[0].pictures ? pictureOf(*dataset, i) : rawOf(*dataset, i);
        said = read.starts_with(folder.root()) ? read : said;
      }
    }
    EXPECT_EQ(said, folder.root() + message);
  }
}

// What LMDB itself would trust.
TEST(Lmdb, NamesDamagedDatabases) {
  TemporaryFolder folder;
  const std::string path = folder.root() + "/data.mdb", data = "lmdb:" + folder.root();
  const std::string good = readText(packed("encoded.lmdb/data.mdb"));
  auto with = [&](size_t at, std::string_view bytes) {
    std::string text = good;
    text.replace(at, bytes.size(), bytes);
    return text;
  };
  const std::string none = ": is no LMDB database of this kind of processor";
  const std::pair<std::string, std::string> cases[] = {
      {"", none},
      {"text", none},
      {std::string(8192, 'x'), none},
      {with(16, "xxxx"), none},
      {with(40, "\0\0\0\0"s), ": claims pages of 0 bytes"},
      {with(40, "\x01\x10\0\0"s), ": claims pages of 4097 bytes"},
      {with(40, "\0\0\0\x80"s), ": claims pages of 2147483648 bytes"},
      {good.substr(0, 8192), ": has 2 pages of 4096 bytes, expected 3: is it whole?"}};
  for (const auto &[bytes, message] : cases) {
    writeText(path, bytes);
    EXPECT_EQ(openingOf(data), path + message);
  }
  EXPECT_TRUE(openingOf("lmdb:" + folder.path("none"))
                  .ends_with("none: cannot open: No such file "
                             "or directory"));
}

// Opening reads no page of a large value: a database of pictures has one or more for each.
TEST(Lmdb, LooksAtPagesOfValuesWhenTheyAreRead) {
  TemporaryFolder folder;
  const std::string path = folder.root() + "/data.mdb";
  const std::string pixels(6000, 'p');
  const std::string large = datumMessage(
      {.channels = 1, .height = 60, .width = 100, .data = bytesOf(pixels), .label = 1});
  writeValues(folder.root(), {large, large, large});
  constexpr size_t pageBytes = 4096, flagsAt = 10, pagesAt = 12;
  const std::string good = readText(path);
  size_t last = 0;
  for (size_t at = 0; at < good.size(); at += pageBytes)
    if (good[at + flagsAt] == 4)
      last = std::max(last, at);
  for (const auto &[at, byte] : {std::pair(flagsAt, '\2'), std::pair(pagesAt, '\1')}) {
    std::string text = good;
    text[last + at] = byte;
    writeText(path, text);
    const auto dataset = openDataset("lmdb:" + folder.root(), Split::Train);
    ASSERT_TRUE(dataset.ok()) << dataset.status().message();
    EXPECT_EQ(rawOf(**dataset, 0), pixels);
    EXPECT_EQ(rawOf(**dataset, 1), pixels);
    EXPECT_EQ(rawOf(**dataset, 2), path + ": record 2 lies in a damaged page");
  }
}

// Whatever stands in it, it is read or refused.
TEST(Lmdb, BearsAnyDamage) {
  TemporaryFolder folder;
  const std::string path = folder.root() + "/data.mdb", data = "lmdb:" + folder.root();
  const std::string good = readText(packed("encoded.lmdb/data.mdb"));
  std::mt19937_64 draws(1);
  unsigned refused = 0;
  for (size_t i = 0; i < 4000; ++i) {
    std::string text = good;
    // One byte, or eight, of a description, of a header or anywhere.
    const uint64_t page = draws() % (good.size() / 4096), wide = draws() % 2 ? 8 : 1;
    const uint64_t at = page * 4096 + draws() % (draws() % 2 ? 160 : 4088);
    for (uint64_t byte = 0; byte < wide; ++byte)
      text[at + byte] = static_cast<char>(draws());
    writeText(path, text);
    const auto opened = openDataset(data, Split::Train);
    refused += !opened.ok();
    if (!opened.ok()) {
      EXPECT_TRUE(opened.status().message().starts_with(folder.root()));
      continue;
    }
    for (uint64_t sample = 0; sample < (*opened)->size(); ++sample)
      (void)((*opened)->fields()[0].pictures ? pictureOf(**opened, sample)
                                             : rawOf(**opened, sample));
  }
  EXPECT_GT(refused, 400u);
}

//--------------------------------------------------------------------------------------------------
// Writing
//--------------------------------------------------------------------------------------------------

Status writePacked(const std::string &folder, unsigned times, size_t tail) {
  auto writer = createLmdbWriter(folder);
  if (!writer.ok())
    return writer.takeStatus();
  for (unsigned i = 0; i < times * std::size(packedNames); ++i) {
    const size_t at = i % std::size(packedNames);
    auto content = readFile(pictureFile(packedNames[at]));
    content.resize(content.size() + tail);
    if (Status added = (*writer)->add(packedNames[at], content, packedLabels[at]); !added.ok())
      return added;
  }
  return (*writer)->finish();
}

TEST(LmdbWriter, WritesWhatIsRead) {
  TemporaryFolder folder;
  for (unsigned times : {1u, 300u}) {
    ASSERT_TRUE(writePacked(folder.path("made"), times, 0).ok());
    expectPacked("lmdb:" + folder.path("made"), times);
  }
  EXPECT_FALSE(fs::exists(folder.path("made/data.mdb.part")));
  EXPECT_FALSE(fs::exists(folder.path("made/lock.mdb")));
}

// Larger than what is committed at once and than the first map; the same bytes each time.
TEST(LmdbWriter, GrowsAndWritesTheSameBytes) {
  TemporaryFolder folder;
  ASSERT_TRUE(writePacked(folder.path("a"), 50, 200000).ok());
  ASSERT_TRUE(writePacked(folder.path("b"), 50, 200000).ok());
  EXPECT_GT(fs::file_size(folder.path("a/data.mdb")), 44u << 20);
  EXPECT_EQ(readText(folder.path("a/data.mdb")), readText(folder.path("b/data.mdb")));
  const auto dataset = *openDataset("lmdb:" + folder.path("a"), Split::Train);
  ASSERT_EQ(dataset->size(), 250u);
  for (uint64_t i = 0; i < 250; ++i)
    EXPECT_EQ(labelText(*dataset, i), std::to_string(packedLabels[i % 5]));
}

TEST(LmdbWriter, WritesPixels) {
  TemporaryFolder folder;
  auto writer = createLmdbWriter(folder.root());
  ASSERT_TRUE(writer.ok()) << writer.status().message();
  ASSERT_TRUE((*writer)->addRaw("a", {2, 1, 3, bytesOf("abcdef")}, 5).ok());
  ASSERT_TRUE((*writer)->addRaw(std::string(600, 'k'), {2, 1, 3, bytesOf("ghijkl")}, 6).ok());
  EXPECT_EQ((*writer)->addRaw("b", {2, 1, 4, bytesOf("ghijkl")}, 6).message(),
            "'b': 6 bytes of pixels for 2 x 1 x 4");
  EXPECT_EQ((*writer)->add("b", bytesOf("text"), 6).message(), "'b': no JPEG, PNG or WebP");
  EXPECT_EQ((*writer)->add("b", bytesOf("text"), -6).message(),
            "'b': label -6, expected one from 0");
  ASSERT_TRUE((*writer)->finish().ok());
  const auto dataset = *openDataset("lmdb:" + folder.root(), Split::Train);
  EXPECT_EQ(rawOf(*dataset, 0), "abcdef");
  EXPECT_EQ(rawOf(*dataset, 1), "ghijkl");
  EXPECT_EQ(labelText(*dataset, 1), "6");
}

// What is not finished leaves what was there.
TEST(LmdbWriter, LeavesNothingHalf) {
  TemporaryFolder folder;
  ASSERT_TRUE(writePacked(folder.root(), 1, 0).ok());
  {
    auto writer = createLmdbWriter(folder.root());
    ASSERT_TRUE((*writer)->addRaw("a", {2, 1, 3, bytesOf("abcdef")}, 5).ok());
  }
  expectPacked("lmdb:" + folder.root());
  EXPECT_FALSE(fs::exists(folder.path("data.mdb.part")));
}

} // namespace
