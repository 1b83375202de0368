// TFRecord files: those that make.py has packed, and damaged ones.
#include "runtime/Core/Crc32c.h"
#include "test/runtime/Data/PackedInputs.h"

using namespace dlc::runtime;
using namespace dlc::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

uint32_t crcOf(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

std::string little(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(number >> 8 * i);
  return text;
}

std::string masked(std::string_view text) {
  const uint32_t crc = crcOf(text);
  return little(uint32_t(crc >> 15 | crc << 17) + 0xa282ead8, 4);
}

std::string recordOf(std::string_view content) {
  const std::string length = little(content.size(), 8);
  return length + masked(length) + std::string(content) + masked(content);
}

/// A field of a message, of less than 16,384 bytes.
std::string field(int number, std::string_view content) {
  const auto size = static_cast<unsigned>(content.size());
  std::string text(1, static_cast<char>(number << 3 | 2));
  if (size > 127)
    text += static_cast<char>((size & 127) | 128);
  text += static_cast<char>(size > 127 ? size >> 7 : size);
  return text + std::string(content);
}

std::string feature(std::string_view key, std::string_view value) {
  return field(1, field(1, key) + field(2, value));
}
std::string textFeature(std::string_view key, std::string_view text) {
  return feature(key, field(1, field(1, text)));
}
std::string numberFeature(std::string_view key, std::string_view packed) {
  return feature(key, field(3, field(1, packed)));
}

/// What is said of a file of these bytes, without its name.
std::string saidOf(std::string_view bytes) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.tfrecord");
  writeText(path, bytes);
  std::string said = openingOf("tfrecord:" + path);
  if (said == "opened") {
    const auto dataset = *openDataset("tfrecord:" + path, Split::Train);
    for (uint64_t i = 0; i < dataset->size(); ++i) {
      const std::string text = pictureOf(*dataset, i), label = labelText(*dataset, i);
      said = text.starts_with(path) ? text : label.starts_with(path) ? label : said;
    }
  }
  EXPECT_EQ(said.find('\n'), std::string::npos);
  return said.starts_with(path) ? said.substr(path.size()) : said;
}

TEST(TfRecord, ReadsThoseOfOthers) { expectPacked("tfrecord:" + packed("pictures.tfrecord")); }

// Names as TensorFlow's own scripts give them.
TEST(TfRecord, FindsItsFiles) {
  TemporaryFolder folder;
  // A folder's name says nothing of what is in it.
  fs::create_directories(folder.path("tfrecords"));
  fs::copy_file(packed("pictures.tfrecord"), folder.path("tfrecords/train.tfrecord"));
  expectPacked("tfrecord:" + folder.path("tfrecords"));
  for (const char *name :
       {"train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001", "readme.txt"})
    fs::copy_file(packed("pictures.tfrecord"), folder.path(name));
  const std::string data = "tfrecord:" + folder.root();
  expectPacked(data, 2);
  EXPECT_TRUE(hasSplit(data, Split::Test));
  EXPECT_EQ((*openDataset(data, Split::Test))->size(), 5u);
  expectPacked("tfrecord:" + folder.path("train-*"), 2);
  EXPECT_TRUE(openingOf(packed("pictures.tfrecord")).ends_with("pictures.tfrecord'?"));
}

TEST(TfRecord, NamesWhatIsDamaged) {
  const std::string picture = readText(pictureFile("grey.png"));
  const std::string both =
      textFeature("image/encoded", picture) + numberFeature("image/class/label", "\1");
  const std::string good = recordOf(field(1, both));
  EXPECT_EQ(saidOf(good), "opened");
  EXPECT_EQ(saidOf(good + good), "opened");
  auto changed = [&](size_t at) {
    std::string text = good;
    text[at] = static_cast<char>(text[at] ^ 1);
    return text;
  };
  auto claims = [](uint64_t bytes) {
    const std::string length = little(bytes, 8);
    return length + masked(length);
  };
  auto example = [](std::string_view features) { return recordOf(field(1, features)); };
  const std::string size = std::to_string(good.size()), first = ": record 0 at byte 0: ";
  const std::pair<std::string, std::string> cases[] = {
      {"", ": there are no samples in it"},
      {"text and more", ": is text, expected TFRecord"},
      {"\x1f\x8b\x08 a gzip file", ": is compressed by gzip, expected TFRecord"},
      {good.substr(0, 5), ": the file ends at byte 5, expected 7 more"},
      {good.substr(0, 12), ": the record at byte 0 claims " + std::to_string(good.size() - 16) +
                               " bytes, the file ends at byte 12"},
      {good.substr(0, good.size() - 1),
       ": the record at byte 0 claims " + std::to_string(good.size() - 16) +
           " bytes, the file ends at byte " + std::to_string(good.size() - 1)},
      {good + "x",
       ": the file ends at byte " + std::to_string(good.size() + 1) + ", expected 11 more"},
      {changed(0), ": the length at byte 0 has another checksum"},
      {changed(9), ": the length at byte 0 has another checksum"},
      {good + changed(3), ": the length at byte " + size + " has another checksum"},
      {claims(uint64_t(1) << 60), ": the record at byte 0 claims 1152921504606846976 bytes, the "
                                  "file ends at byte 12"},
      {claims(UINT64_MAX),
       ": the record at byte 0 claims 18446744073709551615 bytes, the file ends at byte 12"},
      {changed(50), first + "has another checksum than its bytes"},
      {changed(good.size() - 1), first + "has another checksum than its bytes"},
      {good + changed(50), ": record 1 at byte " + size + ": has another checksum than its bytes"},
      {recordOf(""), first + "has not one text 'image/encoded', not one number "
                             "'image/class/label'; its features: none"},
      {recordOf("\xff\xff\xff"),
       first + "no tf.train.Example: its fields are damaged or end early"},
      {recordOf("\x0a\x7f"), first + "no tf.train.Example: its fields are damaged or end early"},
      {example(textFeature("image/encoded", picture)),
       first + "has not one number 'image/class/label'; its features: image/encoded"},
      {example(numberFeature("image/class/label", "\1") + textFeature("image", "x")),
       first + "has not one text 'image/encoded'; its features: image/class/label, image"},
      {example(textFeature("image/encoded", picture) + textFeature("image/class/label", "7")),
       first + "has not one number 'image/class/label'; its features: image/encoded, "
               "image/class/label"},
      {example(textFeature("image/encoded", picture) + numberFeature("image/class/label", "\1\2")),
       first + "has not one number 'image/class/label'; its features: image/encoded, "
               "image/class/label"},
      {example(feature("image/encoded", field(1, field(1, "a") + field(1, "b"))) +
               numberFeature("image/class/label", "\1")),
       first + "has not one text 'image/encoded'; its features: image/encoded, image/class/label"},
      {example(textFeature("image/encoded", picture) +
               numberFeature("image/class/label", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1")),
       first + "has label -1, expected a whole number from 0"},
      {example(textFeature("image/encoded", picture) +
               numberFeature("image/class/label", "\x80\x80\x80\x80\x08")),
       first + "has label 2147483648, expected a whole number from 0"},
      {example(textFeature("image/encoded", "") + numberFeature("image/class/label", "\1")),
       first + "is empty, expected JPEG, PNG or WebP"},
      {example(textFeature("image/encoded", picture.substr(0, 300)) +
               numberFeature("image/class/label", "\1")),
       first + "damaged PNG: it ends too early"}};
  for (const auto &[bytes, message] : cases)
    EXPECT_EQ(saidOf(bytes), message);
}

// A label of a record that is damaged is no label, whatever was read before.
TEST(TfRecord, ChecksLabelsWhenTheyAreRead) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.tfrecord");
  fs::copy_file(packed("pictures.tfrecord"), path);
  const auto dataset = *openDataset("tfrecord:" + path, Split::Train);
  EXPECT_FALSE(isInMemory(*dataset, 1));
  EXPECT_EQ(labelText(*dataset, 0), "3");
  fs::resize_file(path, 100);
  EXPECT_EQ(labelText(*dataset, 0), "3");
  EXPECT_TRUE(labelText(*dataset, 1).starts_with(path + ": the file ends at byte "))
      << labelText(*dataset, 1);
}

} // namespace
