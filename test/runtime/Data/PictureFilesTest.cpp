// Folders and lists of pictures.
#include "runtime/Data/Dataset.h"
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Training/Ranks.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace dlc::runtime;
using namespace dlc::test;
namespace fs = std::filesystem;

namespace {

void writeText(const std::string &path, std::string_view text) {
  fs::create_directories(fs::path(path).parent_path());
  const auto bytes = std::as_bytes(std::span(text));
  writeFile(path, {bytes.begin(), bytes.end()});
}

/// A copy of one of the test's pictures.
void writePicture(const std::string &path, std::string_view name = "colours.png") {
  fs::create_directories(fs::path(path).parent_path());
  fs::copy_file(std::string(DLC_TEST_INPUTS "/pictures/") + std::string(name), path);
}

std::string messageOf(const std::string &description, Split split = Split::Train) {
  auto dataset = openDataset(description, split);
  return dataset.ok() ? "opened" : std::string(dataset.status().message());
}

int32_t labelOf(const Dataset &dataset, uint64_t index) {
  return *reinterpret_cast<const int32_t *>(dataset.sample(index, 1));
}

std::vector<int32_t> labelsOf(const Dataset &dataset) {
  std::vector<int32_t> labels;
  for (uint64_t i = 0; i < dataset.size(); ++i)
    labels.push_back(labelOf(dataset, i));
  return labels;
}

PictureRequest everything(uint32_t height, uint32_t width) {
  return {{0, 0, double(height), double(width)}, height, width};
}

/// Bytes of a sample's picture, or the message that says why there are none.
std::string pictureOf(const Dataset &dataset, uint64_t index) {
  Picture picture;
  auto region = dataset.readPicture(index, 0, everything, picture);
  if (!region.ok())
    return std::string(region.status().message());
  return {picture.bytes.begin(), picture.bytes.end()};
}

// The order is that of ImageFolder: by class, by folder, by name.
TEST(ImageFolder, NumbersClassesAndSamplesByName) {
  TemporaryFolder folder;
  for (const char *name : {"b/2.JPG", "b/10.jpg", "b/a-b/1.png", "b/a/1.png", "b/a/x/1.png",
                           "b/notes.txt", "a/x y/z.webp", "c.d/1.jpeg", "a/1.PnG"})
    writeText(folder.path("train/" + std::string(name)), name);
  writeText(folder.path("train/classes.csv"), "a,b");
  const auto dataset = openDataset("images:" + folder.root(), Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->name(), folder.path("train"));
  ASSERT_NE((*dataset)->classNames(), nullptr);
  EXPECT_EQ(*(*dataset)->classNames(), (std::vector<std::string>{"a", "b", "c.d"}));
  EXPECT_EQ(labelsOf(**dataset), (std::vector<int32_t>{0, 0, 1, 1, 1, 1, 1, 2}));
  // They are text: what fails says in which order they are read.
  const char *order[] = {"a/1.PnG",   "a/x y/z.webp", "b/10.jpg",    "b/2.JPG",
                         "b/a/1.png", "b/a-b/1.png",  "b/a/x/1.png", "c.d/1.jpeg"};
  for (uint64_t i = 0; i < std::size(order); ++i)
    EXPECT_EQ(pictureOf(**dataset, i), folder.path("train/" + std::string(order[i])) +
                                           ": is text, expected JPEG, PNG or WebP");
}

// An image of three channels, or of as many as the input takes, and a number.
TEST(ImageFolder, GivesPicturesAndLabels) {
  TemporaryFolder folder;
  writePicture(folder.path("train/cat/1.png"));
  writePicture(folder.path("train/dog/1.jpg"), "grey.jpg");
  const std::string data = "images:" + folder.root();
  const auto dataset = openDataset(data, Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  const std::vector<DatasetField> &fields = (*dataset)->fields();
  ASSERT_EQ(fields.size(), 2u);
  EXPECT_EQ(fields[0].kind, FieldKind::Image);
  EXPECT_TRUE(fields[0].pictures);
  EXPECT_EQ(fields[0].shape, (std::vector<uint64_t>{3, 0, 0}));
  EXPECT_EQ(fields[1].kind, FieldKind::Label);
  EXPECT_EQ(fields[1].dtype, DLC_I32);
  EXPECT_EQ(pictureOf(**dataset, 0).size(), 37u * 29 * 3);
  EXPECT_EQ(pictureOf(**dataset, 1).size(), 37u * 29 * 3);
  EXPECT_FALSE(isInMemory(**dataset));
  Picture picture;
  EXPECT_EQ((*dataset)->readPicture(0, 1, everything, picture).status().message(),
            folder.path("train") + ": its samples are no pictures");

  const ValueInfo label = inputOf("y", DLC_I32, {8});
  for (const auto &[shape, channels] : {std::pair{std::vector<uint64_t>{8, 1, 28, 28}, 1u},
                                        {{8, 28, 28}, 3u},
                                        {{8, 3, 28, 28}, 3u},
                                        {{8, 784}, 3u}}) {
    const EntryInfo entry = entryWith({label, inputOf("x", DLC_F32, shape)}, 8);
    const auto own = openDataset(data, Split::Train, &entry);
    EXPECT_EQ((*own)->fields()[0].shape, (std::vector<uint64_t>{channels, 0, 0}));
    EXPECT_EQ(pictureOf(**own, 0).size(), 37u * 29 * channels);
  }
}

// Tests have the numbers of the classes that were trained, also of a few of them.
TEST(ImageFolder, HasTestsBesideItsTraining) {
  TemporaryFolder folder;
  const std::string data = "images:" + folder.root();
  for (const char *name : {"train/a/1.png", "train/b/1.png", "train/c/1.png", "test/c/1.png"})
    writePicture(folder.path(name));
  EXPECT_TRUE(hasSplit(data, Split::Test));
  EXPECT_EQ(labelsOf(**openDataset(data, Split::Test)), (std::vector<int32_t>{2}));
  // Of both, val is what a training is judged by.
  writePicture(folder.path("val/b/1.png"));
  auto tests = openDataset(data, Split::Test);
  EXPECT_EQ((*tests)->name(), folder.path("val"));
  EXPECT_EQ(labelsOf(**tests), (std::vector<int32_t>{1}));
  EXPECT_EQ((*tests)->classNames()->size(), 3u);
  writePicture(folder.path("val/d/1.png"));
  EXPECT_EQ(messageOf(data, Split::Test),
            folder.path("val/d") + ": " + folder.path("train") + " has no such class");
}

// Folders of classes alone are what one trains on, evaluates or predicts, and no test data.
TEST(ImageFolder, MayBeItsClasses) {
  TemporaryFolder folder;
  const std::string data = "images:" + folder.root();
  writePicture(folder.path("cat/1.png"));
  writePicture(folder.path("dog/1.png"));
  EXPECT_TRUE(hasSplit(data, Split::Train));
  EXPECT_FALSE(hasSplit(data, Split::Test));
  for (Split split : {Split::Train, Split::Test})
    EXPECT_EQ(labelsOf(**openDataset(data, split)), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(dataFiles(data), (std::vector<std::string>{folder.root(), folder.root()}));
  EXPECT_EQ(testDataText(data), "folder val or test");
  EXPECT_TRUE(followsReader(data));
  EXPECT_FALSE(followsReader("idx:" + folder.root()));
}

// Splits under other names would be learnt as classes.
TEST(ImageFolder, TakesNoSplitForAClass) {
  TemporaryFolder folder;
  const std::string data = "images:" + folder.root();
  writePicture(folder.path("Validation/cat/1.png"));
  writePicture(folder.path("training/cat/1.png"));
  EXPECT_EQ(messageOf(data), folder.root() + ": 'Validation' would be a class; folders of training "
                                             "and test data are called train and val, or test");
  writePicture(folder.path("testimony/1.png"));
  EXPECT_EQ(labelsOf(**openDataset(data, Split::Train)), (std::vector<int32_t>{0, 1, 2}));
}

// Links are followed, and those that lead back are no end of folders.
TEST(ImageFolder, FollowsLinks) {
  TemporaryFolder folder;
  writePicture(folder.path("elsewhere/1.png"));
  fs::create_directories(folder.path("data/train"));
  fs::create_directory_symlink(folder.path("elsewhere"), folder.path("data/train/cat"));
  fs::create_symlink(folder.path("elsewhere/1.png"), folder.path("elsewhere/2.png"));
  fs::create_symlink(folder.path("nowhere"), folder.path("elsewhere/3.png"));
  const std::string data = "images:" + folder.path("data");
  auto dataset = openDataset(data, Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  ASSERT_EQ((*dataset)->size(), 3u);
  EXPECT_EQ(pictureOf(**dataset, 0), pictureOf(**dataset, 1));
  EXPECT_EQ(pictureOf(**dataset, 2),
            folder.path("data/train/cat/3.png") + ": cannot open: No such file or directory");
  fs::create_directory_symlink("..", folder.path("elsewhere/back"));
  EXPECT_NE(messageOf(data).find(": more than 32 folders in one another"), std::string::npos);
}

TEST(ImageFolder, SaysWhatIsMissing) {
  TemporaryFolder folder;
  const std::string data = "images:" + folder.root();
  const std::string expected =
      ": no folder; expected the one with train/CLASS/... and val/CLASS/..., or with CLASS/...";
  EXPECT_EQ(messageOf("images:" + folder.path("none")), folder.path("none") + expected);
  EXPECT_EQ(messageOf(data), folder.root() + ": there are no folders in it, expected one of "
                                             "pictures for each class");
  writePicture(folder.path("train/cat/1.png"));
  EXPECT_EQ(messageOf(data, Split::Test), folder.path("val") + expected);
  fs::create_directories(folder.path("train/dog/deep"));
  writeText(folder.path("train/dog/list.txt"), "");
  EXPECT_EQ(messageOf(data), folder.path("train/dog") +
                                 ": a class without pictures: no name ends in .jpg, .jpeg, .png or "
                                 ".webp");
  writeText(folder.path("train/dog/deep/1.BMP"), "");
  EXPECT_EQ(messageOf(data), folder.path("train/dog/deep/1.BMP") +
                                 ": pictures of this kind are not read, expected .jpg, .jpeg, .png "
                                 "or .webp");
  fs::remove(folder.path("train/dog/deep/1.BMP"));
  writePicture(folder.path("train/dog/1.png"));
  EXPECT_EQ(messageOf(data), "opened");
  fs::remove_all(folder.path("train"));
  EXPECT_EQ(messageOf(data), folder.root() + ": there are no folders in it, expected one of "
                                             "pictures for each class");
  writePicture(folder.path("val/cat/1.png"));
  EXPECT_EQ(messageOf(data), folder.path("train") + expected);
  EXPECT_EQ(messageOf(data, Split::Test), "opened");
  EXPECT_TRUE(messageOf(folder.root()).ends_with("did you mean 'images:" + folder.root() + "'?"));
}

// Files are opened when they are read: whatever they are, one error names them.
TEST(ImageFolder, NamesWhatCannotBeRead) {
  TemporaryFolder folder;
  writePicture(folder.path("cat/0.jpg"), "large.jpg");
  writeText(folder.path("cat/1.jpg"), "");
  fs::create_directories(folder.path("cat/2.jpg"));
  writePicture(folder.path("cat/3.jpg"), "large.jpg");
  fs::resize_file(folder.path("cat/3.jpg"), 2000);
  writePicture(folder.path("cat/4.jpg"), "colours.png");
  const auto dataset = openDataset("images:" + folder.root(), Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  // A folder is none of its pictures.
  ASSERT_EQ((*dataset)->size(), 4u);
  EXPECT_EQ(pictureOf(**dataset, 0).size(), 203u * 149 * 3);
  EXPECT_EQ(pictureOf(**dataset, 1),
            folder.path("cat/1.jpg") + ": is empty, expected JPEG, PNG or WebP");
  EXPECT_EQ(pictureOf(**dataset, 2),
            folder.path("cat/3.jpg") + ": damaged JPEG: it ends too early");
  // By its first bytes, not its name.
  EXPECT_EQ(pictureOf(**dataset, 3).size(), 37u * 29 * 3);
  fs::remove(folder.path("cat/0.jpg"));
  EXPECT_EQ(pictureOf(**dataset, 0),
            folder.path("cat/0.jpg") + ": cannot open: No such file or directory");
}

// Ranks whose pictures differ differ, also where their names do not.
TEST(ImageFolder, IsComparedByItsPictures) {
  auto textOf = [](std::string_view name) {
    TemporaryFolder folder;
    writePicture(folder.path("cat/1.jpg"), name);
    writePicture(folder.path("dog/1.jpg"), "grey.jpg");
    return describeSamples(**openDataset("images:" + folder.root(), Split::Train));
  };
  EXPECT_TRUE(textOf("colours.jpg")->starts_with("2 samples, "));
  EXPECT_EQ(*textOf("colours.jpg"), *textOf("colours.jpg"));
  EXPECT_NE(*textOf("colours.jpg"), *textOf("colours-444.jpg"));
  // One that is damaged differs from one that is not; it is named where it is read.
  TemporaryFolder folder;
  writeText(folder.path("cat/1.jpg"), "");
  writePicture(folder.path("dog/1.jpg"), "grey.jpg");
  const auto damaged = describeSamples(**openDataset("images:" + folder.root(), Split::Train));
  ASSERT_TRUE(damaged.ok()) << damaged.status().message();
  EXPECT_NE(*damaged, *textOf("colours.jpg"));
}

// Any thread reads any picture.
TEST(ImageFolder, IsReadByManyThreads) {
  TemporaryFolder folder;
  const char *names[] = {"large.jpg", "large-progressive.jpg", "large.png", "large.webp"};
  for (const char *name : names)
    writePicture(folder.path("a/" + std::string(name)), name);
  const auto dataset = *openDataset("images:" + folder.root(), Split::Train);
  std::vector<std::string> expected;
  for (uint64_t i = 0; i < dataset->size(); ++i)
    expected.push_back(pictureOf(*dataset, i));
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (unsigned round = 0; round < 20; ++round)
        EXPECT_EQ(pictureOf(*dataset, (thread + round) % 4), expected[(thread + round) % 4]);
    });
  for (std::thread &thread : threads)
    thread.join();
}

// The label is the last word; what is in front of it is the path, seen from the list.
TEST(ImageList, ReadsLines) {
  TemporaryFolder folder;
  writePicture(folder.path("data/a b.png"));
  writePicture(folder.path("data/in/c.jpg"), "grey.jpg");
  writePicture(folder.path("elsewhere.webp"), "lossy.webp");
  writeText(folder.path("data/some.lst"), "a b.png 7\n\n  \nin/c.jpg\t0\r\n" +
                                              folder.path("elsewhere.webp") + " 2147483647\n" +
                                              "a b.png   7  \nnone.jpg 1");
  const std::string data = "list:" + folder.path("data/some.lst");
  for (Split split : {Split::Train, Split::Test}) {
    auto dataset = openDataset(data, split);
    ASSERT_TRUE(dataset.ok()) << dataset.status().message();
    EXPECT_EQ(labelsOf(**dataset), (std::vector<int32_t>{7, 0, 2147483647, 7, 1}));
    EXPECT_EQ((*dataset)->classNames(), nullptr);
    for (uint64_t i = 0; i < 4; ++i)
      EXPECT_EQ(pictureOf(**dataset, i).size(), 37u * 29 * 3);
    EXPECT_EQ(pictureOf(**dataset, 0), pictureOf(**dataset, 3));
    EXPECT_EQ(pictureOf(**dataset, 4),
              folder.path("data/none.jpg") + ": cannot open: No such file or directory");
  }
  // One list has no tests.
  EXPECT_TRUE(hasSplit(data, Split::Train));
  EXPECT_FALSE(hasSplit(data, Split::Test));
}

TEST(ImageList, HasTestsInASecondList) {
  TemporaryFolder folder;
  const std::string data = "list:" + folder.root();
  EXPECT_FALSE(hasSplit(data, Split::Train));
  EXPECT_EQ(messageOf(data), folder.path("train.txt") + ": cannot open: No such file or directory");
  writeText(folder.path("train.txt"), "a.png 0\nb.png 1\n");
  EXPECT_TRUE(hasSplit(data, Split::Train));
  EXPECT_FALSE(hasSplit(data, Split::Test));
  EXPECT_EQ(messageOf(data, Split::Test),
            folder.path("val.txt") + ": cannot open: No such file or directory");
  writeText(folder.path("test.txt"), "c.png 3\n");
  EXPECT_EQ(labelsOf(**openDataset(data, Split::Test)), (std::vector<int32_t>{3}));
  writeText(folder.path("val.txt"), "c.png 4\n");
  EXPECT_EQ(labelsOf(**openDataset(data, Split::Test)), (std::vector<int32_t>{4}));
  EXPECT_EQ(dataFiles(data),
            (std::vector<std::string>{folder.path("train.txt"), folder.path("val.txt"),
                                      folder.path("test.txt")}));
  EXPECT_TRUE(messageOf(folder.root()).ends_with("did you mean 'list:" + folder.root() + "'?"));
}

// What is no line of a list is named with its number.
TEST(ImageList, NamesDamagedLines) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  const std::string expected =
      ": expected the path of a picture, a space and a whole number from 0";
  const std::pair<std::string, std::string> cases[] = {
      {"a.png cat\n", ":1: 'cat' is no label" + expected},
      {"a.png 0\nb.png -1\n", ":2: '-1' is no label" + expected},
      {"a.png 0\n\nb.png 1.5\n", ":3: '1.5' is no label" + expected},
      {"a.png 2147483648\n", ":1: '2147483648' is no label" + expected},
      {"a.png +1\n", ":1: '+1' is no label" + expected},
      {"a.png 1,2\n", ":1: '1,2' is no label" + expected},
      {"a.png\n", ":1: 'a.png' is no line of a list" + expected},
      {"7\n", ":1: '7' is no line of a list" + expected},
      {" 7\n", ":1: ' 7' is no line of a list" + expected},
      {"", ": there are no samples in it"},
      {"\n \r\n", ": there are no samples in it"},
      {"\x89PNG\r\n\x1a\n 1", ": is a picture (PNG), expected lines of a path and the number of a "
                              "class"}};
  for (const auto &[text, message] : cases) {
    writeText(path, text);
    EXPECT_EQ(messageOf("list:" + path), path + message);
  }
}

/// The fields of a list for a reader: "x f32[3], ..."; or why there are none.
std::string fieldsOf(const std::string &path, const EntryInfo *reader) {
  const auto dataset = openDataset("list:" + path, Split::Train, reader);
  if (!dataset.ok())
    return std::string(dataset.status().message());
  std::string text;
  for (const DatasetField &field : (*dataset)->fields())
    text += (text.empty() ? "" : ", ") + (field.name.empty() ? "-" : field.name) + " " +
            TensorType{field.dtype, field.shape, {}}.str();
  return text;
}

// Columns go to inputs by their names, or by what inputs take.
TEST(ImageList, ReadsColumns) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  const EntryInfo reader =
      entryWith({inputOf("image", DLC_F32, {2, 1, 8, 8}), inputOf("flags", DLC_F32, {2, 3}),
                 inputOf("pair", DLC_I32, {2, 2}), inputOf("mask", DLC_I64, {2, 8, 8}),
                 inputOf("other", DLC_F32, {2, 3, 8, 8}), inputOf("age", DLC_F32, {2})},
                2);
  const std::pair<std::string, std::string> cases[] = {
      {"a.png 1 0 1\n", "- u8[1, 0, 0], flags f32[3]"},
      {"a b.png 1 0\n", "- u8[1, 0, 0], pair i32[2]"},
      {"a.png 0.5\n", "- u8[1, 0, 0], age f32[]"},
      {"a.png b.png\n", "- u8[1, 0, 0], mask u8[1, 0, 0]"},
      {"a.png 1 2 b.png\n", "- u8[1, 0, 0], pair i32[2], mask u8[1, 0, 0]"},
      {"# image pair.0 pair.1 other age\na.png 1 2 b.png 3\n",
       "image u8[1, 0, 0], pair i32[2], other u8[3, 0, 0], age f32[]"},
      {"#\tother mask unknown\na.png b.png 3\n",
       "other u8[3, 0, 0], mask u8[1, 0, 0], unknown f32[]"},
      {"# image pair.0 pair.1\na.png 1 2.5\n",
       path + ":2: column 'pair.1': '2.5' is no whole number"},
      {"a.png b.png\nc.png 1\n", path + ":2: column 2: '1' is no picture's name"}};
  for (const auto &[text, fields] : cases) {
    writeText(path, text);
    EXPECT_EQ(fieldsOf(path, &reader), fields) << text;
  }
  // Without an input for it, as where a model infers.
  const EntryInfo infers = entryWith({inputOf("image", DLC_F32, {2, 3, 8, 8})}, 2);
  writeText(path, "a.png 0.5\nb.png 1\n");
  EXPECT_EQ(fieldsOf(path, &infers), "- u8[3, 0, 0], label f32[]");
  writeText(path, "a.png 1 0 1\nb c.png  0 \t0.25 -1\n");
  const auto dataset = openDataset("list:" + path, Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->sampleName(1), "b c.png");
  const auto *numbers = reinterpret_cast<const float *>((*dataset)->sample(1, 1));
  EXPECT_EQ(std::vector<float>(numbers, numbers + 3), (std::vector<float>{0, 0.25, -1}));
}

// Indices of a palette and values of grey stay what they are, of any number of bits; what else a
// picture has is no class.
TEST(ImageList, DecodesNumbersOfClasses) {
  const auto decode = *openPictureDecoder();
  auto decoded = [&](const char *name) -> std::string {
    const auto file = readFile(std::string(DLC_TEST_INPUTS "/pictures/") + name);
    Picture picture;
    const auto region = decode(file, classNumbers, everything, picture);
    if (!region.ok())
      return std::string(region.status().message());
    EXPECT_EQ(picture.channels, 1u);
    return {picture.bytes.begin(), picture.bytes.end()};
  };
  auto expected = [&](const char *name) {
    const auto bytes = readFile(std::string(DLC_TEST_INPUTS "/pictures/") + name + ".numbers");
    return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  };
  for (const char *name : {"palette.png", "grey.png", "grey-2.png", "grey-4-interlaced.png"})
    EXPECT_EQ(decoded(name), expected(name)) << name;
  const std::string colours =
      "is a PNG of colours or of 16 bits, expected a palette or grey values "
      "of up to 8 bits, which are numbers of classes";
  EXPECT_EQ(decoded("colours.png"), colours);
  EXPECT_EQ(decoded("grey-16.png"), colours);
  for (const char *name : {"grey.jpg", "lossy.webp"})
    EXPECT_EQ(decoded(name), "is no PNG, in which alone numbers of classes stay what they are");
}

// As large as ImageNet: it opens at once, and takes little memory.
TEST(ImageList, HoldsAMillionNames) {
  TemporaryFolder folder;
  constexpr int samples = 1281167;
  std::string text;
  for (int i = 0; i < samples; ++i)
    text += "n" + std::to_string(10000000 + i % 1000) + "/n" + std::to_string(10000000 + i % 1000) +
            "_" + std::to_string(i) + ".JPEG " + std::to_string(i % 1000) + "\n";
  writeText(folder.path("train.txt"), text);
  const auto dataset = openDataset("list:" + folder.root(), Split::Train);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->size(), uint64_t(samples));
  EXPECT_EQ(labelOf(**dataset, samples - 1), (samples - 1) % 1000);
}

} // namespace
