// WebDataset shards: those of Python's tarfile, those that are written here, and damaged ones.
#include "runtime/Data/Formats/RecordWriter.h"
#include "runtime/Data/Formats/TarFile.h"
#include "runtime/Data/Formats/TarIndex.h"
#include "test/runtime/Data/PackedInputs.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;
namespace fs = std::filesystem;

namespace {

std::string bytesText(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// A tar file of these members, in their order.
std::string tarOf(const std::vector<std::pair<std::string, std::string>> &members) {
  std::string tar;
  for (const auto &[name, content] : members) {
    std::vector<std::byte> header;
    appendTarHeader(header, name, content.size());
    tar += bytesText(header) + content;
    tar.resize((tar.size() + 511) / 512 * 512);
  }
  tar.resize(tar.size() + 1024);
  return tar;
}

/// With the checksum of the header at `at` put right.
std::string sealed(std::string tar, size_t at) {
  unsigned sum = 0;
  std::memset(tar.data() + at + 148, ' ', 8);
  for (size_t i = 0; i < 512; ++i)
    sum += static_cast<uint8_t>(tar[at + i]);
  std::snprintf(tar.data() + at + 148, 7, "%06o", sum);
  return tar;
}

const std::string picture = readText(pictureFile("grey.png"));

/// What is said of a tar file of these bytes, without its name.
std::string saidOf(std::string_view bytes) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.tar");
  writeText(path, bytes);
  std::string said = openingOf("tar:" + path);
  if (said == "opened") {
    const auto dataset = *openDataset("tar:" + path, Split::Train);
    for (uint64_t i = 0; i < dataset->size(); ++i)
      if (const std::string text = pictureOf(*dataset, i); text.starts_with(path))
        said = text;
  }
  EXPECT_EQ(said.find('\n'), std::string::npos);
  return said.starts_with(path) ? said.substr(path.size()) : said;
}

TEST(Tar, ReadsThoseOfOthers) {
  for (const char *name : {"ustar.tar", "gnu.tar", "pax.tar"})
    expectPacked("tar:" + packed(name));
}

// A folder, a folder in it for each split, words in names, patterns, one file.
TEST(Tar, FindsItsShards) {
  TemporaryFolder folder;
  auto copy = [&](std::string_view to) {
    fs::create_directories(fs::path(folder.path(to)).parent_path());
    fs::copy_file(packed("ustar.tar"), folder.path(to));
  };
  for (const char *name : {"a/s-000009.tar", "a/s-000010.tar", "a/s-000010.idx.old", "a/.s.tar"})
    copy(name);
  expectPacked("tar:" + folder.path("a"), 2);
  expectPacked("tar:" + folder.path("a/s-0000{09..10}.tar"), 2);
  expectPacked("tar:" + folder.path("a/s-*.tar"), 2);
  expectPacked("tar:" + folder.path("a/s-000009.tar"));
  EXPECT_FALSE(hasSplit("tar:" + folder.path("a"), Split::Test));
  EXPECT_FALSE(hasSplit("tar:" + folder.path("a/s-*.tar"), Split::Test));
  EXPECT_TRUE(hasSplit("tar:" + folder.path("a/s-*.tar"), Split::Train));
  EXPECT_EQ(openingOf("tar:" + folder.path("a/s-{000009..000011}.tar")),
            folder.path("a/s-000011.tar") + ": cannot open: No such file or directory");
  EXPECT_EQ(openingOf("tar:" + folder.path("a/t-*.tar")),
            folder.path("a/t-*.tar") + ": cannot open: No such file or directory");

  for (const char *name : {"b/train/1.tar", "b/train/2.tar", "b/val/1.tar", "b/test/1.tar"})
    copy(name);
  expectPacked("tar:" + folder.path("b"), 2);
  EXPECT_EQ((*openDataset("tar:" + folder.path("b"), Split::Test))->size(), 5u);
  for (const char *name : {"c/x-train-1.tar", "c/x-train-2.tar", "c/x-interval.tar",
                           "c/x-validation-1.tar", "c/x-test-1.tar", "c/x-test-2.tar"})
    copy(name);
  expectPacked("tar:" + folder.path("c"), 2);
  EXPECT_TRUE(hasSplit("tar:" + folder.path("c"), Split::Test));
  EXPECT_EQ((*openDataset("tar:" + folder.path("c"), Split::Test))->size(), 5u);
  EXPECT_EQ(dataFiles("tar:" + folder.path("c")).size(), 6u);
  fs::create_directories(folder.path("d"));
  EXPECT_EQ(openingOf("tar:" + folder.path("d")),
            folder.path("d") + ": no files whose names end in .tar in it or in its folder train");
  EXPECT_EQ(openingOf("tar:" + folder.path("d"), Split::Test),
            folder.path("d") + ": no files whose names end in .tar in it for tests, and none in "
                               "its folder val or test");
  EXPECT_TRUE(openingOf(folder.path("a/s-000009.tar")).ends_with("s-000009.tar'?"));
}

// Labels lie in memory, so that they are checked before the first step.
TEST(Tar, KnowsItsLabels) {
  const auto dataset = *openDataset("tar:" + packed("ustar.tar"), Split::Train);
  EXPECT_TRUE(isInMemory(*dataset, 1));
  EXPECT_FALSE(isInMemory(*dataset));
  EXPECT_TRUE(followsReader("tar:x"));
}

TEST(Tar, NamesWhatIsDamaged) {
  const std::string good = tarOf({{"a.png", picture}, {"a.cls", "1"}});
  EXPECT_EQ(saidOf(good), "opened");
  auto with = [&](size_t at, std::string_view text, bool seal = true) {
    std::string tar = good;
    tar.replace(at, text.size(), text);
    return seal ? sealed(tar, at / 512 * 512) : tar;
  };
  const std::string noLabel = "expected a whole number from 0";
  const std::string nine(9, '9'), path(101, 'p');
  auto pax = [&](std::string_view record) {
    std::string tar = tarOf({{"pax", std::string(record)}, {"a.png", picture}, {"a.cls", "1"}});
    tar[156] = 'x';
    return sealed(tar, 0);
  };
  using namespace std::string_literals;
  const std::pair<std::string, std::string> cases[] = {
      {"", ": ends at byte 0 without the block of zeros that ends a tar file: is it whole?"},
      {std::string(1024, '\0'), ": there are no samples in it"},
      {"no tar", ": the file ends at byte 6, expected 506 more"},
      {std::string(600, 'x'), ": byte 0: no header of a tar file, or a damaged one"},
      {good.substr(0, 700), ": the header at byte 0 claims 425 bytes, the file ends at byte 700"},
      {good.substr(0, 1024), ": ends at byte 1024 without the block of zeros that ends a tar file: "
                             "is it whole?"},
      {good.substr(0, 1300), ": the file ends at byte 1300, expected 236 more"},
      {good.substr(0, 2048), ": ends at byte 2048 without the block of zeros that ends a tar file: "
                             "is it whole?"},
      {good + good, ": the archive ends at byte 2048, but byte 3072 is not zero: are these several "
                    "archives in one file?"},
      {good + std::string(2 << 20, '\0'), ": the archive ends at byte 2048, 2098176 bytes before "
                                          "the file does"},
      {with(0, "b", false), ": byte 0: no header of a tar file, or a damaged one"},
      {with(1024, "b", false), ": byte 1024: no header of a tar file, or a damaged one"},
      {with(124, "77777777777"), ": the header at byte 0 claims 8589934591 bytes, the file ends at "
                                 "byte 3072"},
      {with(124, "\x80\0\0\0\x10\0\0\0\0\0\0\0"s), ": the header at byte 0 claims "
                                                   "1152921504606846976 bytes, the file ends at "
                                                   "byte 3072"},
      {with(124, "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"s),
       ": the header at byte 0 claims 18446744073709551615 bytes, the file ends at byte 3072"},
      {with(124, "\x80\1\0\0\0\0\0\0\0\0\0\0"s),
       ": byte 0: no header of a tar file, or a damaged one"},
      {with(124, "000000x0651"), ": byte 0: no header of a tar file, or a damaged one"},
      {with(124, "           "), ": byte 0: no header of a tar file, or a damaged one"},
      {with(156, "S"), ": the file at byte 0 is stored without its holes, expected whole ones"},
      {with(1024 + 512, "x"), ": 'a.cls' at byte 1536: 'x' is no label, " + noLabel},
      {tarOf({{"a.png", picture}}), ": 'a', whose picture is at byte 512, has no .cls or .json "
                                    "beside it"},
      {tarOf({{"a.cls", "1"}}), ": 'a' has a .cls, but no .jpg, .jpeg, .png or .webp beside it"},
      {tarOf({{"a.png", picture}, {"b.png", picture}, {"a.cls", "1"}, {"b.cls", "1"}}),
       ": 'a', whose picture is at byte 512, has no .cls or .json beside it"},
      {tarOf({{"a.png", picture}, {"a.jpg", picture}, {"a.cls", "1"}}),
       ": 'a.jpg' at byte 1536: a second picture of its sample, the first is at byte 512"},
      {tarOf({{"a.png", picture}, {"a.cls", "1"}, {"a.cls", "2"}}),
       ": 'a.cls' at byte 2560: a second label of its sample"},
      {tarOf({{"a.png", picture}, {"a.cls", ""}}),
       ": 'a.cls' at byte 1536: '' is no label, " + noLabel},
      {tarOf({{"a.png", picture}, {"a.cls", "-1"}}),
       ": 'a.cls' at byte 1536: '-1' is no label, " + noLabel},
      {tarOf({{"a.png", picture}, {"a.cls", "1 2"}}),
       ": 'a.cls' at byte 1536: '1 2' is no label, " + noLabel},
      {tarOf({{"a.png", picture}, {"a.cls", "4294967296"}}),
       ": 'a.cls' at byte 1536: '4294967296' is no label, " + noLabel},
      {tarOf({{"a.png", picture}, {"a.cls", std::string(70000, '1')}}),
       ": 'a.cls' at byte 1536: has 70000 bytes, expected at most 65536"},
      {tarOf({{"a.png", picture}, {"a.json", "{"}}), ": 'a.json' at byte 1536: '{' is no JSON"},
      {tarOf({{"a.png", picture}, {"a.json", "{\"x\": 1}"}}),
       ": 'a.json' at byte 1536: '{\"x\": 1}' has neither \"label\" nor \"cls\""},
      {tarOf({{"a.png", picture}, {"a.json", "{\"cls\": 1.5}"}}),
       ": 'a.json' at byte 1536: '{\"cls\": 1.5}' has no label, " + noLabel},
      {tarOf({{"a.png", picture}, {"a.json", "{\"label\": [1]}"}}),
       ": 'a.json' at byte 1536: '{\"label\": [1]}' has no label, " + noLabel},
      {tarOf({{"a.png", picture}, {"a.json", "[1]"}}),
       ": 'a.json' at byte 1536: '[1]' has no label, " + noLabel},
      {tarOf({{"a.png", picture}, {"a.json", "{\"a\": {\"label\": 1}}"}}),
       ": 'a.json' at byte 1536: '{\"a\": {\"label\": 1}}' has neither \"label\" nor \"cls\""},
      {tarOf({{"a.png", picture}, {"a.json", std::string(100, '[')}}),
       ": 'a.json' at byte 1536: JSON nested more than 64 deep"},
      {tarOf({{"a.bmp", picture}, {"a.cls", "1"}}),
       ": 'a.bmp' at byte 512: pictures of this kind are not read, expected .jpg, .jpeg, .png or "
       ".webp"},
      {tarOf({{"a.png", ""}, {"a.cls", "1"}}),
       ": the picture at byte 512: is empty, expected JPEG, PNG or WebP"},
      {tarOf({{"a.png", "text"}, {"a.cls", "1"}}),
       ": the picture at byte 512: is text, expected JPEG, PNG or WebP"},
      {tarOf({{"a.png", picture.substr(0, 300)}, {"a.cls", "1"}}),
       ": the picture at byte 512: damaged PNG: it ends too early"},
      {pax("8 path="), ": the pax header at byte 0 is damaged"},
      {pax("x path=a\n"), ": the pax header at byte 0 is damaged"},
      {pax("999 path=a\n"), ": the pax header at byte 0 is damaged"},
      {pax("3 a=bc\n"), ": the pax header at byte 0 is damaged"},
      {pax("nothing"), ": the pax header at byte 0 is damaged"},
      {pax("18446744073709551617 a=b\n"), ": the pax header at byte 0 is damaged"},
      {pax("12 size=1e3\n"), ": the pax header at byte 0 has size '1e3'"},
      {pax("20 size=" + nine + "99\n"), ": the header at byte 1024 claims 99999999999 bytes, the "
                                        "file ends at byte 4096"},
      {pax("22 GNU.sparse.major=1\n"), ": the file at byte 0 is stored without its holes, expected "
                                       "whole ones"},
      {pax(std::string(66000, ' ')),
       ": the pax header at byte 0: has 66000 bytes, expected at most "
       "65536"}};
  for (const auto &[bytes, message] : cases)
    EXPECT_EQ(saidOf(bytes), message);
}

// A file of holes has as many bytes as it says, and takes neither their memory nor their time.
TEST(Tar, IsNotFooledByHoles) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.tar");
  writeText(path, tarOf({{"a.png", picture}, {"a.cls", "1"}}));
  fs::resize_file(path, uint64_t(1) << 42);
  EXPECT_EQ(openingOf("tar:" + path),
            path + ": the archive ends at byte 2048, 4398046509056 bytes before the file does");
  std::string tar = tarOf({{"a.png", picture}, {"a.cls", "1"}});
  tar.replace(124, 12, std::string("\x80\0\0\0\0\0\0\x80\0\0\0\0", 12));
  writeText(path, sealed(tar, 0));
  fs::resize_file(path, uint64_t(1) << 42);
  EXPECT_EQ(openingOf("tar:" + path), path + ": 'a.png' at byte 512: has 549755813888 bytes, a "
                                             "picture has at most 1073741824");
}

//--------------------------------------------------------------------------------------------------
// Writing
//--------------------------------------------------------------------------------------------------

/// Writes make.py's pictures `times` times and returns how that went.
Status writePacked(const std::string &folder, uint64_t shardBytes, unsigned times = 1) {
  auto writer = createTarWriter(folder, "s", shardBytes);
  if (!writer.ok())
    return writer.takeStatus();
  for (unsigned i = 0; i < times * std::size(packedNames); ++i) {
    const size_t at = i % std::size(packedNames);
    const auto content = readFile(pictureFile(packedNames[at]));
    const std::string key = std::to_string(i) + "/" + packedNames[at];
    if (Status added = (*writer)->add(key, content, packedLabels[at]); !added.ok())
      return added;
  }
  return (*writer)->finish();
}

TEST(TarWriter, WritesWhatIsRead) {
  TemporaryFolder folder;
  const std::string path = folder.path("made/s-000000.tar");
  ASSERT_TRUE(writePacked(folder.path("made"), 1 << 30).ok());
  expectPacked("tar:" + folder.path("made"));
  const std::string index = readText(folder.path("made/s-000000.idx"));
  EXPECT_TRUE(index.starts_with("v1.2 5\njpg 512 1096 0/colours_jpg.jpg cls 2560 1 "
                                "0/colours_jpg.cls\npng "))
      << index;
  EXPECT_TRUE(index.ends_with("\ndlc " + std::to_string(fs::file_size(path)) + " 3 0 7 999 1\n"))
      << index;
  // The same without the index, and with one of DALI's.
  writeText(folder.path("made/s-000000.idx"), index.substr(0, index.find("dlc ")));
  expectPacked("tar:" + folder.path("made"));
  fs::remove(folder.path("made/s-000000.idx"));
  expectPacked("tar:" + folder.path("made"));
  // And so does tar.
  const std::string list = folder.path("list");
  ASSERT_EQ(std::system(("tar tf " + path + " > " + list).c_str()), 0);
  EXPECT_TRUE(readText(list).starts_with("0/colours_jpg.jpg\n0/colours_jpg.cls\n1/grey_png.png\n"));
}

// Neither the folder nor the time is in the bytes; one that is full is followed by another.
TEST(TarWriter, WritesTheSameBytes) {
  TemporaryFolder folder;
  ASSERT_TRUE(writePacked(folder.path("a"), 8000, 3).ok());
  ASSERT_TRUE(writePacked(folder.path("b"), 8000, 3).ok());
  unsigned shards = 0;
  for (const auto &entry : fs::directory_iterator(folder.path("a"))) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(readText(entry.path().string()), readText(folder.path("b/" + name)));
    shards += name.ends_with(".tar");
    if (name.ends_with(".tar")) {
      EXPECT_LE(entry.file_size(), 8000u);
    }
  }
  EXPECT_GE(shards, 4u);
  expectPacked("tar:" + folder.path("a"), 3);
}

TEST(TarWriter, MakesPicturesOfPixels) {
  TemporaryFolder folder;
  std::string pixels;
  for (int i = 0; i < 3 * 4 * 5; ++i)
    pixels += static_cast<char>(i * 37);
  const auto bytes = std::as_bytes(std::span(pixels));
  auto writer = createTarWriter(folder.root(), "s", 1 << 30);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->addRaw("colours", {3, 4, 5, bytes}, 1).ok());
  ASSERT_TRUE((*writer)->addRaw("grey", {1, 6, 10, bytes}, 2).ok());
  EXPECT_EQ((*writer)->addRaw("two", {2, 6, 5, bytes}, 2).message(),
            "'two': pixels of 2 channels are no PNG of 1 or 3");
  EXPECT_EQ((*writer)->addRaw("less", {3, 5, 5, bytes}, 2).message(),
            "'less': 60 bytes of pixels for 3 x 5 x 5");
  ASSERT_TRUE((*writer)->finish().ok());
  const auto dataset = *openDataset("tar:" + folder.root(), Split::Train);
  const std::string colours = pictureOf(*dataset, 0), grey = pictureOf(*dataset, 1);
  for (size_t i = 0; i < 20; ++i)
    for (size_t c = 0; c < 3; ++c)
      EXPECT_EQ(colours[i * 3 + c], pixels[c * 20 + i]);
  for (size_t i = 0; i < 60; ++i)
    EXPECT_EQ(grey[i * 3], pixels[i]);
}

// Names that no header holds, and that would be other keys when they are read.
TEST(TarWriter, KeepsKeysApart) {
  TemporaryFolder folder;
  const auto content = readFile(pictureFile("grey.png"));
  auto writer = createTarWriter(folder.root(), "s", 1 << 30);
  ASSERT_TRUE((*writer)->add(std::string(300, 'k'), content, 0).ok());
  ASSERT_TRUE((*writer)->add("a.b c\n", content, 1).ok());
  ASSERT_TRUE((*writer)->add("a.c", content, 2).ok());
  EXPECT_EQ((*writer)->add("a.c", content, 3).message(),
            "'a_c': two samples in a row have this name");
  EXPECT_EQ((*writer)->add("b", content, -3).message(), "'b': label -3, expected one from 0");
  EXPECT_EQ((*writer)->add("b", std::span(content).subspan(1), 3).message(),
            "'b': no JPEG, PNG or WebP");
  ASSERT_TRUE((*writer)->finish().ok());
  for (bool indexed : {true, false}) {
    if (!indexed)
      fs::remove(folder.path("s-000000.idx"));
    const auto dataset = openDataset("tar:" + folder.root(), Split::Train);
    ASSERT_TRUE(dataset.ok()) << dataset.status().message();
    for (uint64_t i = 0; i < 3; ++i)
      EXPECT_EQ(labelText(**dataset, i), std::to_string(i));
  }
}

// What was there before would be read behind what was written.
TEST(TarWriter, SeesShardsOfBefore) {
  TemporaryFolder folder;
  ASSERT_TRUE(writePacked(folder.root(), 8000, 3).ok());
  EXPECT_TRUE(
      writePacked(folder.root(), 1 << 30)
          .message()
          .ends_with(
              "s-000001.tar: is there from before, and would be read behind the 1 shards that were "
              "written; remove it"));
  TemporaryFolder other;
  writeText(other.path("file"), "x");
  EXPECT_EQ(writePacked(other.path("file/in"), 1 << 30).message(),
            other.path("file/in") + ": cannot make the folder: Not a directory");
}

TEST(TarIndex, NamesWhatIsDamaged) {
  TemporaryFolder folder;
  const std::string tar = folder.path("s-000000.tar"), path = folder.path("s-000000.idx");
  ASSERT_TRUE(writePacked(folder.root(), 1 << 30).ok());
  const std::string good = readText(path);
  const std::string size = std::to_string(fs::file_size(tar));
  auto replaced = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::string noPlace = "': no place in a tar file of " + size + " bytes";
  const std::string line = " 1096 0/colours_jpg.jpg cls 2560 1 0/colours_jpg.cls";
  const std::pair<std::string, std::string> cases[] = {
      {replaced("v1.2", "v9"), ":1: expected v1.2 and the number of samples"},
      {replaced("v1.2 5", "v1.2 x"), ":1: expected v1.2 and the number of samples"},
      {replaced("v1.2 5", "v1.2 6"), ": 5 samples, the first line claims 6"},
      {replaced("v1.2 5", "v1.2 1152921504606846976"),
       ": 5 samples, the first line claims 1152921504606846976"},
      {replaced("jpg 512", "jpg 513"), ":2: 'jpg 513" + line + noPlace},
      {replaced("jpg 512", "jpg 0"), ":2: 'jpg 0" + line + noPlace},
      {replaced("jpg 512", "jpg 1048576"), ":2: 'jpg 1048576" + line + noPlace},
      {replaced("jpg 512", "jpg x"),
       ":2: 'jpg x" + line + "': expected ENDING OFFSET BYTES NAME of each file"},
      {replaced("jpg 512", "tiff 512"), ":2: 'tiff 512" + line + "': a sample has no picture"},
      {replaced("cls 2560", "png 2560"),
       ":2: 'jpg 512 1096 0/colours_jpg.jpg png 2560 1 0/colours_jpg.cls': two pictures in a "
       "sample"},
      {replaced(" 999", ""), ": expected a label for each of 5 samples"},
      {replaced(" 999", " -1"), ": expected a label for each of 5 samples"},
      {replaced(" 999", " 1 2"), ": more labels than samples"},
      {replaced("dlc ", "dlc 1"), ": is of a file of 1" + size + " bytes, " + tar + " has " + size +
                                      "; without the index it is read as it is"}};
  for (const auto &[text, message] : cases) {
    writeText(path, text);
    EXPECT_EQ(openingOf("tar:" + tar), path + message);
  }
  // Of another file of as many bytes: seen when it is read.
  writeText(path, replaced("jpg 512 1096", "jpg 1024 1096"));
  auto dataset = openDataset("tar:" + tar, Split::Train);
  ASSERT_TRUE(dataset.ok());
  EXPECT_EQ(pictureOf(**dataset, 0),
            tar + ": the picture at byte 1024, if " + path + " is right: no header of a tar file");
}

// As large as ImageNet: it opens at once, and takes 16 bytes for each sample.
TEST(Tar, HoldsAMillionSamples) {
  TemporaryFolder folder;
  constexpr uint64_t shards = 16, each = 80073, bytes = 110080;
  for (uint64_t shard = 0; shard < shards; ++shard) {
    const std::string name = "train-" + std::to_string(10 + shard);
    TarIndexText index;
    for (uint64_t i = 0; i < each; ++i)
      index.add("jpg", 512 + i * (bytes + 1536), bytes, "n01440764/n01440764_10026", 0, 1,
                static_cast<int32_t>(i % 1000));
    const uint64_t size = each * (bytes + 1536) + 1024;
    writeText(folder.path(name + ".idx"), index.text(size));
    writeText(folder.path(name + ".tar"), "");
    fs::resize_file(folder.path(name + ".tar"), size);
  }
  const auto dataset = openDataset("tar:" + folder.root(), Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->size(), shards * each);
  EXPECT_EQ(labelText(**dataset, shards * each - 1), std::to_string((each - 1) % 1000));
  EXPECT_TRUE(pictureOf(**dataset, each).ends_with("is right: no header of a tar file"));
}

TEST(Tar, IsReadByManyThreads) {
  TemporaryFolder folder;
  ASSERT_TRUE(writePacked(folder.root(), 8000, 8).ok());
  const auto dataset = *openDataset("tar:" + folder.root(), Split::Train);
  std::vector<std::string> expected;
  for (uint64_t i = 0; i < dataset->size(); ++i)
    expected.push_back(pictureOf(*dataset, i));
  std::vector<std::thread> threads;
  const auto fresh = *openDataset("tar:" + folder.root(), Split::Train);
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 200; ++i)
        EXPECT_EQ(pictureOf(*fresh, (i * (2 * thread + 1)) % expected.size()),
                  expected[(i * (2 * thread + 1)) % expected.size()]);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
