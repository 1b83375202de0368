// RecordIO files: those that make.py has packed, and damaged ones.
#include "test/runtime/Data/PackedInputs.h"

#include <cmath>

using namespace dlc::runtime;
using namespace dlc::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

std::string bytesOf(const auto &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}

std::string part(uint32_t kind, const std::string &content, uint32_t magic = 0xced7230a) {
  std::string text = bytesOf(magic) + bytesOf(uint32_t(kind << 29 | content.size())) + content;
  text.resize((text.size() + 3) / 4 * 4);
  return text;
}

std::string imageOf(uint32_t flag, float label, const std::string &rest) {
  return bytesOf(flag) + bytesOf(label) + std::string(16, '\0') + rest;
}

/// What is said of files of these bytes, without their common name; without an index if that is
/// "none".
std::string saidOf(std::string_view bytes, std::string_view index = "none") {
  TemporaryFolder folder;
  const std::string path = folder.path("a.rec"), common = folder.path("a");
  writeText(path, bytes);
  if (index != "none")
    writeText(folder.path("a.idx"), index);
  std::string said = openingOf("recordio:" + path);
  if (said == "opened") {
    const auto dataset = *openDataset("recordio:" + path, Split::Train);
    for (uint64_t i = 0; i < dataset->size(); ++i) {
      const std::string text = pictureOf(*dataset, i), label = labelText(*dataset, i);
      said = text.starts_with(path) ? text : label.starts_with(path) ? label : said;
    }
  }
  EXPECT_EQ(said.find('\n'), std::string::npos);
  return said.starts_with(common) ? said.substr(common.size()) : said;
}

// With an index, and without it by walking through the records, of which one is cut.
TEST(RecordIo, ReadsThoseOfOthers) {
  expectPacked("recordio:" + packed("pictures.rec"));
  TemporaryFolder folder;
  fs::copy_file(packed("pictures.rec"), folder.path("train.rec"));
  expectPacked("recordio:" + folder.root());
  EXPECT_FALSE(hasSplit("recordio:" + folder.root(), Split::Test));
  fs::copy_file(packed("pictures.rec"), folder.path("val.rec"));
  EXPECT_TRUE(hasSplit("recordio:" + folder.root(), Split::Test));
  EXPECT_TRUE(openingOf(packed("pictures.rec"))
                  .ends_with("did you mean 'recordio:" + packed("pictures.rec") + "'?"));
}

// The index says which records, and in which order.
TEST(RecordIo, FollowsItsIndex) {
  TemporaryFolder folder;
  fs::copy_file(packed("pictures.rec"), folder.path("a.rec"));
  const std::string index = readText(packed("pictures.idx"));
  const std::string second = index.substr(index.find("1\t"), index.find("2\t") - index.find("1\t"));
  writeText(folder.path("a.idx"), second + "0\t0\r\n");
  const auto dataset = *openDataset("recordio:" + folder.path("a.rec"), Split::Train);
  ASSERT_EQ(dataset->size(), 2u);
  EXPECT_EQ(labelText(*dataset, 0), "0");
  EXPECT_EQ(labelText(*dataset, 1), "3");
}

TEST(RecordIo, HasSeveralLabels) {
  const auto dataset = *openDataset("recordio:" + packed("several.rec"), Split::Train);
  EXPECT_EQ(dataset->fields()[1].shape, (std::vector<uint64_t>{2}));
  for (uint64_t i = 0; i < 5; ++i)
    EXPECT_EQ(labelText(*dataset, i), std::to_string(packedLabels[i]) + " " + std::to_string(i));
}

TEST(RecordIo, NamesWhatIsDamaged) {
  const std::string picture = readText(pictureFile("grey.png"));
  const std::string image = imageOf(0, 1, picture), good = part(0, image);
  EXPECT_EQ(saidOf(good), "opened");
  EXPECT_EQ(saidOf(good + good, "0\t0\n1\t" + std::to_string(good.size()) + "\n"), "opened");
  const std::string first = ".rec: record 0 at byte 0: ";
  const std::string size = std::to_string(good.size()), bytes = std::to_string(image.size());
  const std::string noLabel = ", expected a whole number from 0";
  const std::pair<std::string, std::string> walked[] = {
      {"", ".rec: there are no samples in it"},
      {"text", ".rec: the file ends at byte 4, expected 4 more"},
      {"text that is longer", ".rec: no record of RecordIO at byte 0"},
      {part(0, image, 0xced7230b), ".rec: no record of RecordIO at byte 0"},
      {part(5, image), ".rec: no record of RecordIO at byte 0"},
      {good.substr(0, 6), ".rec: the file ends at byte 6, expected 2 more"},
      {good.substr(0, 100),
       ".rec: the record at byte 0 claims " + bytes + " bytes, the file ends at byte 100"},
      {bytesOf(0xced7230au) + bytesOf(0x1fffffffu),
       ".rec: the record at byte 0 claims 536870911 bytes, the file ends at byte 8"},
      {good + "x",
       ".rec: the file ends at byte " + std::to_string(good.size() + 1) + ", expected 7 more"},
      {good + "12345678", ".rec: no record of RecordIO at byte " + size},
      {part(2, image), ".rec: there are no samples in it"},
      {part(1, image), first + ".rec: the file ends at byte " + size + ", expected 8 more"},
      {part(1, image) + good, first + "ends at byte " + size},
      {part(0, "short"), first + "has 5 bytes, a header of images 24"},
      {part(0, imageOf(1000, 0, picture)), first + "claims 1000 labels, has " + bytes + " bytes"},
      {part(0, imageOf(UINT32_MAX, 0, picture)),
       first + "claims 4294967295 labels, has " + bytes + " bytes"},
      {part(0, imageOf(0, 0.5, picture)), first + "has label 0.5" + noLabel},
      {part(0, imageOf(0, -1, picture)), first + "has label -1" + noLabel},
      {part(0, imageOf(0, 1e10, picture)), first + "has label 1e+10" + noLabel},
      {part(0, imageOf(0, NAN, picture)), first + "has label nan" + noLabel},
      {good + part(0, imageOf(2, 0, bytesOf(1.0f) + bytesOf(2.0f) + picture)),
       ".rec: record 1 at byte " + size + ": 2 labels, expected 1 as the first has"},
      {part(0, imageOf(0, 1, "")), first + "is empty, expected JPEG, PNG or WebP"},
      {part(0, imageOf(0, 1, picture.substr(0, 300))), first + "damaged PNG: it ends too early"}};
  for (const auto &[content, message] : walked) {
    std::string expected = message;
    if (const size_t at = expected.find(": .rec: "); at != std::string::npos)
      expected.erase(at + 2);
    const std::string said = saidOf(content);
    EXPECT_EQ(said.substr(0, expected.size()), expected) << said;
  }
  const std::string line = ", expected a number, a tab and where its record begins";
  const std::pair<std::string, std::string> indexed[] = {
      {"", ".rec: there are no samples in it"},
      {"0 0\n", ".idx:1: '0 0'" + line},
      {"0\t0\n1\tx\n", ".idx:2: '1\\x09x'" + line},
      {"0\t-1\n", ".idx:1: '0\\x09-1'" + line},
      {"0\t0\n\n", ".idx:2: ''" + line},
      {"0\t" + size + "\n", ".idx:1: byte " + size + " of a file of " + size},
      {"0\t1152921504606846976\n", ".idx:1: byte 1152921504606846976 of a file of " + size},
      {"0\t4\n", ".rec: record 0 at byte 4: no record of RecordIO at byte 4"}};
  for (const auto &[index, message] : indexed)
    EXPECT_EQ(saidOf(good, index), message);
  const std::string cut = part(1, image) + part(3, "rest");
  EXPECT_EQ(saidOf(cut, "0\t" + size + "\n"),
            ".rec: record 0 at byte " + size + ": begins in a record's middle: byte " + size);
}

} // namespace
