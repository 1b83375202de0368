// Datasets, batches and their order.
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Data/IdxDataset.h"
#include "runtime/Data/Shuffle.h"
#include "runtime/Data/Utf8.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>
#include <zlib.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

std::vector<std::byte> compressed(const std::vector<std::byte> &content, const std::string &path) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), unsigned(content.size()));
  gzclose(file);
  return readFile(path);
}

/// The reader's message about a file with this content; "read" if it accepts it.
/// What is said of a description of no format.
std::string expectedFormats() {
  std::string names;
  for (std::string_view name : dataFormats())
    addItem(names, name);
  return ": expected one of " + names + " and a path behind it";
}

std::string messageFor(const TemporaryFolder &folder, const std::vector<std::byte> &content) {
  const std::string path = folder.path("x");
  writeFile(path, content);
  auto file = readIdxFile(path);
  if (file.ok())
    return "read";
  const std::string message(file.status().message());
  EXPECT_TRUE(message.starts_with(path + ": ")) << message;
  return message.substr(path.size() + 2);
}

std::vector<std::byte> idx(std::initializer_list<int> bytes) {
  std::vector<std::byte> content;
  for (int byte : bytes)
    content.push_back(std::byte(byte));
  return content;
}

TEST(Idx, ReadsPlainAndGzip) {
  TemporaryFolder folder;
  const auto content = idx({0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6});
  writeFile(folder.path("plain"), content);
  compressed(content, folder.path("gzip.gz"));
  for (const char *name : {"plain", "gzip.gz"}) {
    auto file = readIdxFile(folder.path(name));
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->shape, (std::vector<uint64_t>{2, 3}));
    EXPECT_EQ(file->data, idx({1, 2, 3, 4, 5, 6}));
  }
}

// Elements are big-endian; types that dlc has not become wider whole numbers.
TEST(Idx, ReadsNumbersOfAnyType) {
  TemporaryFolder folder;
  auto read = [&](std::initializer_list<int> bytes) {
    writeFile(folder.path("x"), idx(bytes));
    return readIdxFile(folder.path("x")).take();
  };
  auto numbersOf = [](const IdxFile &file) {
    std::vector<double> numbers;
    for (size_t at = 0; at < file.data.size(); at += dtypeSize(file.type->dtype))
      numbers.push_back(loadElement(file.type->dtype, file.data.data() + at));
    return numbers;
  };
  using Numbers = std::vector<double>;
  const IdxFile bytes = read({0, 0, 9, 1, 0, 0, 0, 3, 128, 255, 127});
  EXPECT_EQ(bytes.type->dtype, DLC_I32);
  EXPECT_EQ(numbersOf(bytes), (Numbers{-128, -1, 127}));
  EXPECT_EQ(numbersOf(read({0, 0, 11, 1, 0, 0, 0, 2, 128, 0, 1, 2})), (Numbers{-32768, 258}));
  EXPECT_EQ(numbersOf(read({0, 0, 12, 1, 0, 0, 0, 2, 255, 255, 255, 254, 1, 0, 0, 0})),
            (Numbers{-2, 1 << 24}));
  const IdxFile floats = read({0, 0, 13, 2, 0, 0, 0, 1, 0, 0, 0, 2, 63, 128, 0, 0, 192, 32, 0, 0});
  EXPECT_EQ(floats.type->dtype, DLC_F32);
  EXPECT_EQ(floats.shape, (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(numbersOf(floats), (Numbers{1, -2.5}));
  EXPECT_EQ(numbersOf(read({0, 0, 14, 1, 0, 0, 0, 1, 63, 240, 0, 0, 0, 0, 0, 0})), Numbers{1});
}

// Images of floats are taken as they are, labels of any whole numbers.
TEST(Idx, FeedsNumbersOfAnyType) {
  TemporaryFolder folder;
  writeFile(folder.path("train-images-idx3-ubyte"),
            idx({0,  0,   13, 3, 0,   0,  0, 2, 0,  0, 0, 1, 0, 0, 0, 2,
                 63, 128, 0,  0, 192, 32, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0}));
  writeFile(folder.path("train-labels-idx1-ubyte"),
            idx({0, 0, 12, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 1}));
  const EntryInfo entry =
      entryWith({inputOf("image", DLC_F32, {2, 1, 1, 2}), inputOf("label", DLC_I32, {2})}, 2);
  const auto data = openDataset("idx:" + folder.root(), Split::Train);
  ASSERT_TRUE(data.ok()) << data.status().message();
  auto loader = BatchLoader::create(entry, *data);
  ASSERT_TRUE(loader.ok()) << loader.status().message();
  ASSERT_TRUE((*loader)->start({.seed = {}}).ok());
  const Batch *batch = (*loader)->next().take();
  float image[4];
  int32_t label[2];
  std::memcpy(image, batch->inputs[0].data(), sizeof(image));
  std::memcpy(label, batch->inputs[1].data(), sizeof(label));
  EXPECT_THAT(image, testing::ElementsAre(1.0f, -2.5f, 2.0f, 0.0f));
  EXPECT_THAT(label, testing::ElementsAre(3, 1));
}

TEST(Idx, SaysWhatIsWrong) {
  TemporaryFolder folder;
  EXPECT_EQ(messageFor(folder, {}), "no IDX file: it does not begin with two zero bytes");
  EXPECT_EQ(messageFor(folder, idx({1, 0, 8, 1})),
            "no IDX file: it does not begin with two zero bytes");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 13, 1})), "the IDX header ends after 0 of 1 extents");
  for (int type : {0, 7, 10, 15, 255})
    EXPECT_EQ(messageFor(folder, idx({0, 0, type, 1})),
              "IDX element type " + std::to_string(type) +
                  ", expected 8 (unsigned bytes), 9 (signed), 11 or 12 (whole numbers of 16 or 32 "
                  "bits), 13 or 14 (floats of 32 or 64)");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 13, 1, 0, 0, 0, 2, 1, 2, 3, 4, 5})),
            "the IDX header claims 2 elements, the file holds 1");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 14, 2, 255, 255, 255, 255, 255, 255, 255, 255})),
            "the IDX header claims too many elements");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 8, 9})), "IDX rank 9, expected 1 to 8");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 8, 2, 0, 0, 0, 1})),
            "the IDX header ends after 1 of 2 extents");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 8, 1, 0, 0, 0, 3, 1, 2})),
            "the IDX header claims 3 elements, the file holds 2");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 8, 1, 0, 0, 0, 1, 1, 2})),
            "the IDX header claims 1 elements, the file holds more");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255})),
            "the IDX header claims too many elements");
  EXPECT_EQ(messageFor(folder, idx({0, 0, 8, 1, 255, 255, 255, 255, 1})),
            "the IDX header claims 4294967295 elements, the file holds 1");
  auto gzip = compressed(std::vector<std::byte>(5000, std::byte(0)), folder.path("y"));
  gzip.resize(gzip.size() - 9);
  EXPECT_TRUE(messageFor(folder, gzip).find("ends too early") != std::string::npos ||
              messageFor(folder, gzip).find("IDX") != std::string::npos);
}

TEST(Idx, OpensAFolder) {
  TemporaryFolder folder;
  auto none = openDataset("idx:" + folder.root(), Split::Train);
  EXPECT_NE(std::string(none.status().message())
                .find("no file train-images-idx3-ubyte or train-images-idx3-ubyte.gz"),
            std::string::npos);
  const std::string expected = expectedFormats();
  EXPECT_NE(expected.find("idx:, cifar:, "), std::string::npos);
  EXPECT_EQ(openDataset("none:x", Split::Train).status().message(), "data 'none:x'" + expected);
  writeSmallData(folder.root(), 40, 20);
  auto train = openDataset("idx:" + folder.root(), Split::Train);
  ASSERT_TRUE(train.ok()) << train.status().message();
  EXPECT_EQ((*train)->size(), 40u);
  EXPECT_EQ((*openDataset("idx:" + folder.root(), Split::Test))->size(), 20u);
  // Labels of another count.
  writeFile(folder.path("train-labels-idx1-ubyte"), idx({0, 0, 8, 1, 0, 0, 0, 1, 1}));
  const std::string message(openDataset("idx:" + folder.root(), Split::Train).status().message());
  EXPECT_TRUE(message.ends_with("train-labels-idx1-ubyte: 1 labels for 40 images")) << message;
}

// A split without samples is an error; one without files is not there, with any of them it is.
TEST(Idx, TellsAnEmptySplitFromNone) {
  TemporaryFolder folder;
  const std::string data = "idx:" + folder.root();
  EXPECT_FALSE(hasSplit(data, Split::Test));
  EXPECT_FALSE(hasSplit("csv:x", Split::Test));
  writeFile(folder.path("t10k-labels-idx1-ubyte.gz"), idx({0, 0, 8, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(hasSplit(data, Split::Test));
  EXPECT_FALSE(hasSplit(data, Split::Train));
  writeFile(folder.path("t10k-images-idx3-ubyte"), idx({0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 4}));
  EXPECT_EQ(openDataset(data, Split::Test).status().message(),
            folder.path("t10k-images-idx3-ubyte") + ": there are no samples in it");
}

TEST(Shuffle, IsAPermutationOfSeedAndEpoch) {
  auto order = shuffledOrder(1000, 1, 0);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  std::vector<uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(sorted, all);
  EXPECT_NE(order, all);
  EXPECT_EQ(order, shuffledOrder(1000, 1, 0));
  EXPECT_NE(order, shuffledOrder(1000, 1, 1));
  EXPECT_NE(order, shuffledOrder(1000, 2, 0));
  EXPECT_EQ(shuffledOrder(1, 1, 0), std::vector<uint32_t>{0});
  EXPECT_TRUE(shuffledOrder(0, 1, 0).empty());
  // Every value comes to every place: over 2,000 shuffles of four, each of 16 pairs 500 times,
  // within six deviations.
  int counts[4][4] = {};
  for (uint32_t epoch = 0; epoch < 2000; ++epoch) {
    auto four = shuffledOrder(4, 9, epoch);
    for (size_t place = 0; place < 4; ++place)
      ++counts[place][four[place]];
  }
  for (auto &row : counts)
    for (int count : row)
      EXPECT_NEAR(count, 500, 6 * std::sqrt(500 * 0.75));
}

struct Small {
  TemporaryFolder folder;
  std::shared_ptr<const Dataset> data;
  explicit Small(uint32_t samples) {
    writeSmallData(folder.root(), samples, 1);
    data = openDataset("idx:" + folder.root(), Split::Train).take();
  }
};

// Images feed a float input, scaled, flat or with axes of extent 1, or a u8 input as they are;
// labels feed i32.
TEST(Batches, ConvertSamples) {
  Small small(20);
  for (dlc_dtype dtype : {DLC_F32, DLC_F64, DLC_U8}) {
    const EntryInfo entry =
        entryWith({inputOf("label", DLC_I32, {8}), inputOf("image", dtype, {8, 16})}, 8);
    auto loader = BatchLoader::create(entry, small.data);
    ASSERT_TRUE(loader.ok()) << loader.status().message();
    ASSERT_TRUE((*loader)->start({}).ok());
    const Batch *batch = (*loader)->next().take();
    ASSERT_NE(batch, nullptr);
    for (uint32_t i = 0; i < 8; ++i) {
      EXPECT_EQ(batch->samples[i], i);
      EXPECT_EQ(reinterpret_cast<const int32_t *>(batch->inputs[0].data())[i],
                int(*small.data->sample(i, 1)));
      const int pixel = int(small.data->sample(i, 0)[5]);
      if (dtype == DLC_F32)
        EXPECT_FLOAT_EQ(reinterpret_cast<const float *>(batch->inputs[1].data())[i * 16 + 5],
                        float(pixel) / 255);
      else if (dtype == DLC_F64)
        EXPECT_DOUBLE_EQ(reinterpret_cast<const double *>(batch->inputs[1].data())[i * 16 + 5],
                         double(pixel) / 255);
      else
        EXPECT_EQ(int(batch->inputs[1][i * 16 + 5]), pixel);
    }
  }
}

// Labels feed whole numbers of one a sample, and stand in a file of any axes of extent 1.
TEST(Batches, TakeLabelsOfOneNumber) {
  Small small(20);
  const std::string path = small.folder.path("train-labels-idx1-ubyte");
  const std::vector<std::byte> flat = readFile(path);
  std::vector<std::byte> column = idx({0, 0, 8, 2, 0, 0, 0, 20, 0, 0, 0, 1});
  column.insert(column.end(), flat.begin() + 8, flat.end());
  writeFile(path, column);
  auto data = openDataset("idx:" + small.folder.root(), Split::Train);
  ASSERT_TRUE(data.ok()) << data.status().message();
  for (const std::vector<uint64_t> &shape : {std::vector<uint64_t>{8}, {8, 1}})
    for (dlc_dtype dtype : {DLC_I32, DLC_I64}) {
      const EntryInfo entry = entryWith({inputOf("label", dtype, shape)}, 8);
      auto loader = BatchLoader::create(entry, *data);
      ASSERT_TRUE(loader.ok()) << loader.status().message();
      ASSERT_TRUE((*loader)->start({}).ok());
      EXPECT_EQ((*loader)->next().take()->inputs[0][3 * dtypeSize(dtype)], flat[8 + 3]);
    }
  column = idx({0, 0, 8, 2, 0, 0, 0, 10, 0, 0, 0, 2});
  column.insert(column.end(), flat.begin() + 8, flat.end());
  writeFile(path, column);
  EXPECT_EQ(openDataset("idx:" + small.folder.root(), Split::Train).status().message(),
            path + ": expected one label a sample, found u8[10, 2]");
}

// Labels make one-hot rows for the input of floats [N, classes] that the images do not fit.
TEST(Batches, MakeOneHotRowsOfLabels) {
  Small small(20);
  for (dlc_dtype dtype : {DLC_F32, DLC_F64, DLC_F16, DLC_BF16})
    for (bool labelsFirst : {false, true}) {
      std::vector<ValueInfo> inputs = {inputOf("image", DLC_F32, {8, 1, 4, 4}),
                                       inputOf("label", dtype, {8, 5})};
      if (labelsFirst)
        std::swap(inputs[0], inputs[1]);
      const EntryInfo entry = entryWith(std::move(inputs), 8);
      auto loader = BatchLoader::create(entry, small.data);
      ASSERT_TRUE(loader.ok()) << loader.status().message();
      EXPECT_EQ((*loader)->notes(true).front(),
                small.folder.root() + ": numbers of classes fill input 'label', " +
                    std::string(dtypeName(dtype)) + "[N, 5], as one-hot rows");
      ASSERT_TRUE((*loader)->start({}).ok());
      const auto block = (*loader)->next().take()->inputs[labelsFirst ? 0 : 1];
      for (uint32_t i = 0; i < 8; ++i)
        for (int c = 0; c < 5; ++c)
          EXPECT_EQ(loadElement(dtype, block.data() + (i * 5 + c) * dtypeSize(dtype)),
                    c == int(*small.data->sample(i, 1)));
    }
  auto message = [&](std::vector<ValueInfo> inputs) {
    return std::string(
        BatchLoader::create(entryWith(std::move(inputs), 8), small.data).status().message());
  };
  EXPECT_EQ(message({inputOf("image", DLC_F32, {8, 1, 4, 4}), inputOf("label", DLC_F32, {8, 3})}),
            small.folder.path("train-labels-idx1-ubyte") +
                ": sample 6 has label 3, the classes of input 'label' are 0 to 2");
  // Who forgot the size of images, or has a place for the labels, is not given one-hot rows.
  const std::string images =
      small.folder.path("train-images-idx3-ubyte") + ": images are u8[N, 4, 4]";
  EXPECT_EQ(message({inputOf("image", DLC_F32, {8, 100})}),
            images + ", input 'image' of entry 'e' takes f32[N, 100]");
  EXPECT_EQ(message({inputOf("image", DLC_F32, {8, 100}), inputOf("label", DLC_I32, {8})}),
            images + ", input 'image' of entry 'e' takes f32[N, 100]");
  EXPECT_EQ(message({inputOf("image", DLC_F32, {8, 16}), inputOf("noise", DLC_F32, {8, 100}),
                     inputOf("label", DLC_I32, {8})}),
            images + ", input 'noise' of entry 'e' takes f32[N, 100]");
}

// Batches lie in memory that the program has for them, as far as there is some, and are not filled
// again before nobody reads them any more.
TEST(Batches, LieWhereTheProgramSays) {
  Small small(40);
  const EntryInfo entry = entryWith({inputOf("image", DLC_U8, {8, 4, 4})}, 8);
  std::vector<std::pair<const std::byte *, uint64_t>> blocks;
  unsigned settled = 0;
  const BatchMemory memory = {
      .allocate = [&](uint64_t bytes) -> std::shared_ptr<std::byte> {
        if (blocks.size() == 2)
          return nullptr;
        std::shared_ptr<std::byte> block(new std::byte[bytes](),
                                         std::default_delete<std::byte[]>());
        blocks.emplace_back(block.get(), bytes);
        return block;
      },
      .settle =
          [&] {
            return ++settled < 100 ? Status() : Status(StatusCode::Failed, "nobody answers");
          }};
  auto loader = BatchLoader::create(entry, small.data, {}, {}, {}, memory).take();
  auto own = BatchLoader::create(entry, small.data).take();
  ASSERT_TRUE(loader->start({}).ok());
  ASSERT_TRUE(own->start({}).ok());
  ASSERT_EQ(blocks.size(), 2u);
  unsigned there = 0, batches = 0;
  while (const Batch *batch = loader->next().take()) {
    const Batch *expected = own->next().take();
    EXPECT_TRUE(std::ranges::equal(batch->inputs[0], expected->inputs[0]));
    for (const auto &[start, bytes] : blocks)
      there += batch->inputs[0].data() == start && batch->inputs[0].size() == bytes;
    EXPECT_EQ(settled, ++batches + 1) << "once for each batch, and for the pass";
  }
  EXPECT_EQ(batches, 5u);
  EXPECT_GE(there, 2u);
  settled = 100;
  EXPECT_EQ(loader->next().status().message(), "nobody answers");
}

// Training drops the partial batch, evaluation pads it.
TEST(Batches, HandleThePartialBatch) {
  Small small(20);
  const EntryInfo entry = entryWith({inputOf("image", DLC_U8, {8, 4, 4})}, 8);
  auto loader = BatchLoader::create(entry, small.data).take();
  auto validCounts = [&](bool keepPartial) {
    EXPECT_TRUE(
        loader->start({.seed = {}, .epoch = 0, .firstBatch = 0, .keepPartial = keepPartial}).ok());
    std::vector<int32_t> valid;
    while (const Batch *batch = loader->next().take()) {
      valid.push_back(batch->valid);
      if (batch->valid < 8)
        EXPECT_EQ(batch->inputs[0].back(), std::byte(0));
    }
    return valid;
  };
  EXPECT_EQ(validCounts(false), (std::vector<int32_t>{8, 8}));
  EXPECT_EQ(validCounts(true), (std::vector<int32_t>{8, 8, 4}));
  EXPECT_EQ(loader->batches(false), 2u);
  EXPECT_EQ(loader->batches(true), 3u);
}

// A pass that begins in the middle yields what the whole pass yields from there on.
TEST(Batches, ContinueInTheMiddle) {
  Small small(100);
  const EntryInfo entry = entryWith({inputOf("image", DLC_U8, {8, 4, 4})}, 8);
  auto loader = BatchLoader::create(entry, small.data).take();
  auto samples = [&](uint64_t first) {
    EXPECT_TRUE(
        loader->start({.seed = 4, .epoch = 2, .firstBatch = first, .keepPartial = false}).ok());
    std::vector<uint32_t> all;
    while (const Batch *batch = loader->next().take())
      all.insert(all.end(), batch->samples.begin(), batch->samples.end());
    return all;
  };
  const auto whole = samples(0);
  EXPECT_EQ(whole.size(), 96u);
  EXPECT_EQ(samples(5), std::vector<uint32_t>(whole.begin() + 40, whole.end()));
  EXPECT_TRUE(samples(12).empty());
  EXPECT_TRUE(samples(13).empty());
}

// Of a label that is no class of the input the error names file, sample, label and classes.
TEST(Batches, RefuseLabelsThatAreNoClass) {
  Small small(20);
  ValueInfo label = inputOf("label", DLC_I32, {8});
  label.classes = 4;
  auto message = [&] {
    auto data = openDataset("idx:" + small.folder.root(), Split::Train).take();
    return std::string(BatchLoader::create(entryWith({label}, 8), data).status().message());
  };
  EXPECT_EQ(message(), "");
  const std::string path = small.folder.path("train-labels-idx1-ubyte");
  std::vector<std::byte> content = readFile(path);
  constexpr size_t header = 8;
  content[header + 17] = std::byte(255);
  writeFile(path, content);
  EXPECT_EQ(message(), path + ": sample 17 has label 255, the classes of input 'label' are 0 to 3");
  label.classes = 256;
  EXPECT_EQ(message(), "");
}

TEST(Batches, SayWhatDoesNotFit) {
  Small small(20);
  auto message = [&](std::vector<ValueInfo> inputs, uint64_t batch = 8) {
    return std::string(
        BatchLoader::create(entryWith(std::move(inputs), batch), small.data).status().message());
  };
  EXPECT_EQ(message({inputOf("image", DLC_F32, {8, 1, 28, 28})}),
            small.folder.path("train-images-idx3-ubyte") +
                ": images are u8[N, 4, 4], input 'image' of entry 'e' takes f32[N, 1, 28, 28]");
  EXPECT_EQ(message({inputOf("word", DLC_I32, {8, 3})}),
            "entry 'e': input 'word' is i32[8, 3], expected floats or u8 of rank 2 or more for "
            "images, or i32 or i64 of rank 1 for labels");
  EXPECT_EQ(message({inputOf("a", DLC_F32, {8, 16}), inputOf("b", DLC_U8, {8, 16})}),
            "entry 'e': inputs 'a' and 'b' both take the images");
  EXPECT_EQ(message({inputOf("a", DLC_F32, {8, 16})}, 0),
            "entry 'e' has no batch axis to put samples on");
}

void writeText(const std::string &path, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  writeFile(path, {bytes.begin(), bytes.end()});
}

std::vector<int> numbersOf(const Dataset &data, size_t field) {
  std::vector<int> numbers;
  std::vector<std::byte> room;
  for (uint64_t i = 0; i < data.size(); ++i)
    numbers.push_back(
        static_cast<int>(loadElement(data.fields()[field].dtype, *sampleAt(data, i, field, room))));
  return numbers;
}

// Characters are numbered in the order of their code points, over the whole file; the last tenth is
// the test split. Each number but the last is there with the one behind it.
TEST(Text, NumbersCharacters) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  writeText(path, "cab\u00e9 cab\u20ac, \n caba"
                  "bcbc");
  auto train = openDataset("text:" + path, Split::Train),
       test = openDataset("text:" + path, Split::Test);
  ASSERT_TRUE(train.ok() && test.ok());
  // \n, space, ',', a, b, c, and the two that are several bytes long
  EXPECT_EQ(numbersOf(**train, 0),
            (std::vector<int>{5, 3, 4, 6, 1, 5, 3, 4, 7, 2, 1, 0, 1, 5, 3, 4, 3, 4}));
  EXPECT_EQ(numbersOf(**train, 1),
            (std::vector<int>{3, 4, 6, 1, 5, 3, 4, 7, 2, 1, 0, 1, 5, 3, 4, 3, 4, 5}));
  EXPECT_EQ(numbersOf(**test, 0), (std::vector<int>{4}));
  EXPECT_TRUE(hasSplit("text:" + path, Split::Test));
  EXPECT_FALSE(hasSplit("text:" + folder.path("b.txt"), Split::Test));
}

// Words are numbered by how often they occur, ends of lines are words.
TEST(Text, NumbersWords) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  std::string text = "the  cat and the dog\n";
  for (int i = 0; i < 3; ++i)
    text += "the dog\tran\n";
  writeText(path, text);
  auto train = openDataset("words:" + path, Split::Train);
  ASSERT_TRUE(train.ok()) << train.status().message();
  // the (5), <eos> and dog (4), ran (3), and, cat
  EXPECT_EQ(numbersOf(**train, 0),
            (std::vector<int>{0, 5, 4, 0, 2, 1, 0, 2, 3, 1, 0, 2, 3, 1, 0, 2}));
}

/// A text of several pieces, with characters and words across their ends.
static std::string longText() {
  std::string text;
  for (uint64_t i = 0; text.size() < (9u << 20); ++i) {
    static const char *const words[] = {"caf\u00e9 ", "\u20ac", "line\n", "a ", "\U0001d11e\t"};
    text += words[(i * i + i / 7) % 5];
  }
  return text;
}

/// Characters and words as the whole text at once has them.
static std::vector<std::string> unitsOf(const std::string &text, bool words) {
  std::vector<std::string> units(1);
  for (char c : text) {
    const bool goesOn = (static_cast<uint8_t>(c) & 0xc0) == 0x80;
    if (!words && goesOn) {
      units.back() += c;
    } else if (!words) {
      units.emplace_back(1, c);
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (!units.back().empty())
        units.emplace_back();
      if (c == '\n') {
        units.back() = "<eos>";
        units.emplace_back();
      }
    } else {
      units.back() += c;
    }
  }
  if (words && units.back().empty())
    units.pop_back();
  if (!words)
    units.erase(units.begin());
  return units;
}

// What lies across the ends of the pieces in which a file is read is one character, and one word.
TEST(Text, ReadsInPieces) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt"), text = longText();
  writeText(path, text);
  for (bool words : {false, true}) {
    const std::string description = (words ? "words:" : "text:") + path;
    std::vector<int> numbers;
    for (Split split : {Split::Train, Split::Test}) {
      const auto data = openDataset(description, split).take();
      for (int number : numbersOf(*data, 0))
        numbers.push_back(number);
      numbers.push_back(numbersOf(*data, 1).back());
    }
    const std::vector<std::string> units = unitsOf(text, words);
    ASSERT_EQ(numbers.size(), units.size());
    std::map<int, std::string> meaning;
    for (size_t i = 0; i < units.size(); ++i) {
      const auto [place, isNew] = meaning.emplace(numbers[i], units[i]);
      ASSERT_EQ(place->second, units[i]) << i;
    }
    EXPECT_EQ(meaning.size(), std::set(units.begin(), units.end()).size());
  }
}

// A text of more kinds of characters than a byte has numbers is kept as it is, and no more of it.
TEST(Text, NumbersManyKindsOfCharacters) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  std::string text;
  std::vector<uint32_t> codes;
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t firsts[] = {'a', 0x400, 0x4e00, 0x1f300};
    codes.push_back(firsts[i % 4] + (i % 4 == 0 ? i % 26 : i / 4 * 7 % 100));
    appendCharacter(text, codes.back());
  }
  writeText(path, text);
  const std::set<uint32_t> kinds(codes.begin(), codes.end());
  ASSERT_GT(kinds.size(), 256u);
  std::vector<int> expected;
  for (uint32_t code : codes)
    expected.push_back(static_cast<int>(std::distance(kinds.begin(), kinds.find(code))));
  const auto train = openDataset("text:" + path, Split::Train).take(),
             test = openDataset("text:" + path, Split::Test).take();
  EXPECT_EQ(train->sample(0, 0), nullptr);
  EXPECT_EQ(numbersOf(*train, 0), (std::vector<int>{expected.begin(), expected.begin() + 899}));
  EXPECT_EQ(numbersOf(*train, 1), (std::vector<int>{expected.begin() + 1, expected.begin() + 900}));
  EXPECT_EQ(numbersOf(*test, 0), (std::vector<int>{expected.begin() + 900, expected.end() - 1}));
  // Too many for an input are an error before the first batch.
  ValueInfo word = inputOf("word", DLC_I32, {2, 2});
  word.classes = static_cast<uint32_t>(kinds.size()) - 1;
  EXPECT_EQ(
      std::string(BatchLoader::create(entryWith({word}, 2), train).status().message()),
      path + ": sample " +
          std::to_string(std::ranges::find(expected, int(kinds.size()) - 1) - expected.begin()) +
          " has value " + std::to_string(word.classes) + " for input 'word', allowed are 0 to " +
          std::to_string(word.classes - 1) + "; its numbers go up to " +
          std::to_string(word.classes));
  word.classes += 1;
  EXPECT_TRUE(BatchLoader::create(entryWith({word}, 2), train).ok());
}

// What has a shorter form is no character, nor is one that the file ends in.
TEST(Text, RefusesWhatIsNoCharacter) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  for (const char *end :
       {"\xc0\x80", "\xe2\x82", "\xf0\x80\x80\x80", "\xfc\x80\x80\x80\x80\x80", "\x80"}) {
    writeText(path, std::string("abc") + end);
    EXPECT_EQ(openDataset("text:" + path, Split::Train).status().message(),
              path + ": no UTF-8 text: byte 3 begins no character");
  }
}

TEST(Text, SaysWhatIsWrong) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  auto message = [&] {
    return std::string(openDataset("text:" + path, Split::Train).status().message());
  };
  EXPECT_TRUE(message().starts_with(path + ": "));
  writeText(path, "a");
  EXPECT_EQ(message(),
            path + ": 1 characters are no text to learn from and a tenth of it to test with");
  writeText(path, "ab\xff"
                  "cdefgh");
  EXPECT_EQ(message(), path + ": no UTF-8 text: byte 2 begins no character");
  EXPECT_EQ(std::string(openDataset(path, Split::Train).status().message()),
            "data '" + path + "'" + expectedFormats() + "; did you mean 'text:" + path + "'?");
}

/// The rows of an input of steps by samples, or of samples by steps.
std::vector<std::vector<int>> rowsOf(std::span<const std::byte> block, size_t rows,
                                     bool samplesFirst) {
  const auto *numbers = reinterpret_cast<const int32_t *>(block.data());
  const size_t steps = block.size() / sizeof(int32_t) / rows;
  std::vector<std::vector<int>> result(rows);
  for (size_t row = 0; row < rows; ++row)
    for (size_t step = 0; step < steps; ++step)
      result[row].push_back(samplesFirst ? numbers[row * steps + step]
                                         : numbers[step * rows + row]);
  return result;
}

// A row goes on where it ended in the batch before, on whatever axis the samples lie; the second
// input holds what follows. Two ranks have twice as many rows.
TEST(Text, RowsGoOn) {
  TemporaryFolder folder;
  std::string text;
  for (char c = 'A'; c < 'A' + 40; ++c)
    text += c;
  writeText(folder.path("a.txt"), text);
  auto data = openDataset("text:" + folder.path("a.txt"), Split::Train).take();
  ValueInfo word = inputOf("word", DLC_I32, {3, 2}), next = inputOf("next", DLC_I32, {2, 3});
  word.batchAxis = 1;
  next.batchAxis = 0;
  const EntryInfo entry = entryWith({word, next}, 2);
  auto loader = BatchLoader::create(entry, data).take();
  EXPECT_EQ(loader->batches(true), 5u); // of 35 pairs, 17 a row
  ASSERT_TRUE(loader->start({.seed = 3}).ok());
  for (int batch = 0; batch < 5; ++batch) {
    const Batch *each = loader->next().take();
    ASSERT_NE(each, nullptr);
    const int first = 3 * batch;
    EXPECT_EQ(rowsOf(each->inputs[0], 2, false),
              (std::vector<std::vector<int>>{{first, first + 1, first + 2},
                                             {first + 17, first + 18, first + 19}}));
    EXPECT_EQ(rowsOf(each->inputs[1], 2, true),
              (std::vector<std::vector<int>>{{first + 1, first + 2, first + 3},
                                             {first + 18, first + 19, first + 20}}));
  }
  EXPECT_EQ(loader->next().take(), nullptr);
  auto second = BatchLoader::create(entry, data, {.rank = 1, .ranks = 2}).take();
  EXPECT_EQ(second->batches(false), 2u); // 8 a row
  ASSERT_TRUE(second->start({.firstBatch = 1}).ok());
  EXPECT_EQ(rowsOf(second->next().take()->inputs[0], 2, false),
            (std::vector<std::vector<int>>{{19, 20, 21}, {27, 28, 29}}));
}

// Words beyond the classes of an input share its last one; characters do not.
TEST(Text, RareWordsShareANumber) {
  TemporaryFolder folder;
  writeText(folder.path("a.txt"), "a a a a b b b c c d e f g h i j k l m n");
  ValueInfo word = inputOf("word", DLC_I32, {2, 2});
  word.batchAxis = 1;
  word.classes = 3;
  const EntryInfo entry = entryWith({word}, 2);
  auto loader =
      BatchLoader::create(entry, openDataset("words:" + folder.path("a.txt"), Split::Train).take())
          .take();
  ASSERT_TRUE(loader->start({.firstBatch = 2}).ok());
  EXPECT_EQ(rowsOf(loader->next().take()->inputs[0], 2, false),
            (std::vector<std::vector<int>>{{1, 1}, {2, 2}}));
  const std::string message(
      BatchLoader::create(entry, openDataset("text:" + folder.path("a.txt"), Split::Train).take())
          .status()
          .message());
  EXPECT_EQ(message, folder.path("a.txt") +
                         ": sample 14 has value 3 for input 'word', allowed are 0 to 2; its "
                         "numbers go up to 14");
}

TEST(Text, SaysWhatDoesNotFit) {
  TemporaryFolder folder;
  const std::string path = folder.path("a.txt");
  writeText(path, "abcdefghijklmnopqrst");
  auto message = [&](std::vector<ValueInfo> inputs) {
    auto data = openDataset("text:" + path, Split::Train).take();
    return std::string(
        BatchLoader::create(entryWith(std::move(inputs), 2), data).status().message());
  };
  ValueInfo word = inputOf("word", DLC_I32, {3, 2}), longer = inputOf("next", DLC_I32, {4, 2});
  word.batchAxis = longer.batchAxis = 1;
  EXPECT_EQ(message({word}), "");
  EXPECT_EQ(message({}), "entry 'e' has no input for the text of " + path);
  EXPECT_EQ(message({word, longer}), "entry 'e': input 'next' takes 4 steps, 'word' 3");
  EXPECT_EQ(message({word, word, word}), "entry 'e': input 'word' is one more than the two that " +
                                             path + " feeds: the text, and what follows");
  EXPECT_EQ(message({inputOf("image", DLC_F32, {2, 3})}),
            "entry 'e': input 'image' is f32[2, 3], expected i32 of rank 2, steps of samples, for "
            "a text");
  ValueInfo many = inputOf("word", DLC_I32, {9, 2});
  many.batchAxis = 1;
  EXPECT_EQ(message({many}), path + ": 18 in a row are too few for a batch of 2 rows of 9 steps");
}

/// Samples that are computed when they are read: [2, 3] floats and a label.
struct Computed : Dataset {
  explicit Computed(uint64_t count) : count(count) {}
  const std::string &name() const override { return text; }
  uint64_t size() const override { return count; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    ++reads;
    if (index == broken)
      return Status(StatusCode::Damaged, "shard-3.tar: record 17: no JPEG");
    if (field == 1) {
      const auto label = static_cast<int32_t>(index == mislabelled ? 10 : index % 10);
      std::memcpy(bytes.data(), &label, sizeof(label));
      return {};
    }
    EXPECT_EQ(bytes.size(), 6 * sizeof(float));
    for (size_t i = 0; i < 6; ++i) {
      const float value = float(index) + float(i) / 8;
      std::memcpy(bytes.data() + i * sizeof(float), &value, sizeof(value));
    }
    return {};
  }
  std::string text = "computed";
  uint64_t count, broken = UINT64_MAX, mislabelled = UINT64_MAX;
  mutable std::atomic<uint64_t> reads = 0;
  std::vector<DatasetField> fieldList = {
      {FieldKind::Named, DLC_F32, {2, 3}, "computed: 'x'", "x"},
      {FieldKind::Named, DLC_I32, {}, "computed: 'label'", "label"}};
};

EntryInfo computedEntry() {
  ValueInfo label = inputOf("label", DLC_I32, {4});
  label.classes = 10;
  return entryWith({inputOf("x", DLC_F32, {4, 2, 3}), label}, 4);
}

/// All bytes of a pass, in order.
std::vector<std::byte> passOf(const EntryInfo &entry, const std::shared_ptr<const Dataset> &data,
                              const LoadOptions &options) {
  auto loader = BatchLoader::create(entry, data, {}, options).take();
  EXPECT_TRUE(loader->start({.seed = 5, .epoch = 2, .firstBatch = 3}).ok());
  std::vector<std::byte> all;
  while (const Batch *batch = loader->next().take())
    for (std::span<const std::byte> block : batch->inputs)
      all.insert(all.end(), block.begin(), block.end());
  return all;
}

// Samples are read when a batch needs them, and by any number of threads the batches are the same.
TEST(Batches, ReadWhatIsNotInMemory) {
  const EntryInfo entry = computedEntry();
  auto data = std::make_shared<Computed>(403);
  auto loader = BatchLoader::create(entry, data);
  ASSERT_TRUE(loader.ok()) << loader.status().message();
  EXPECT_EQ(data->reads, 0u);
  const auto expected = passOf(entry, data, {.workers = 1, .ahead = 1});
  EXPECT_EQ(expected.size(), 97u * 4 * 7 * sizeof(float));
  for (unsigned workers : {0u, 2u, 5u, 40u})
    for (unsigned ahead : {0u, 1u, 7u})
      EXPECT_EQ(passOf(entry, data, {.workers = workers, .ahead = ahead}), expected);
}

// Samples of nothing have no place, and are in memory all the same.
TEST(Batches, TakeSamplesOfNothing) {
  const std::vector<int32_t> label = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto data =
      datasetOf({{"x", DLC_F32, {8, 0}, label.data()}, {"label", DLC_I32, {8}, label.data()}})
          .take();
  struct Nowhere : Dataset {
    std::shared_ptr<const Dataset> inner;
    const std::string &name() const override { return inner->name(); }
    uint64_t size() const override { return inner->size(); }
    const std::vector<DatasetField> &fields() const override { return inner->fields(); }
    const std::byte *sample(uint64_t index, size_t field) const override {
      return field == 0 ? nullptr : inner->sample(index, field);
    }
  };
  auto nowhere = std::make_shared<Nowhere>();
  nowhere->inner = data;
  EXPECT_TRUE(isInMemory(*nowhere));
  const EntryInfo entry =
      entryWith({inputOf("x", DLC_F32, {4, 0}), inputOf("label", DLC_I32, {4})}, 4);
  EXPECT_EQ(passOf(entry, nowhere, {}).size(), 0u) << "the pass begins behind three batches";
  auto loader = BatchLoader::create(entry, nowhere).take();
  ASSERT_TRUE(loader->start({.seed = {}}).ok());
  EXPECT_EQ(loader->next().take()->inputs[1].size(), 4 * sizeof(int32_t));
}

// A pass ends at the batch of a sample that cannot be read, or that the input cannot hold; the next
// one begins as any other.
TEST(Batches, FailWhereASampleIs) {
  const EntryInfo entry = computedEntry();
  for (bool labelled : {false, true}) {
    auto data = std::make_shared<Computed>(400);
    (labelled ? data->mislabelled : data->broken) = 130;
    auto loader = BatchLoader::create(entry, data, {}, {.workers = 3}).take();
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(loader->start({.seed = {}}).ok());
      int batches = 0;
      Result<const Batch *> next = loader->next();
      for (; next.ok() && *next; next = loader->next())
        ++batches;
      EXPECT_EQ(batches, 32);
      EXPECT_EQ(next.status().message(),
                labelled ? "computed: 'label': sample 130 has value 10 for input 'label', allowed "
                           "are 0 to 9"
                         : "shard-3.tar: record 17: no JPEG");
    }
  }
}

/// Some of its samples are damaged: in the label alone, so that the image has been read by then.
struct PartlyDamaged : Computed {
  PartlyDamaged(uint64_t count, std::set<uint64_t> damaged)
      : Computed(count), damaged(std::move(damaged)) {}
  Status read(uint64_t index, size_t field, std::span<std::byte> bytes) const override {
    if (field == 1 && damaged.contains(index))
      return Status(StatusCode::Damaged, "record " + std::to_string(index));
    return Computed::read(index, field, bytes);
  }
  std::set<uint64_t> damaged;
};

/// The samples of a pass, by what their images and labels hold, those of each batch behind a |;
/// behind them the failure, or how many were left out.
std::string samplesOf(const std::shared_ptr<const Dataset> &data, const LoadOptions &options,
                      const Pass &pass, Shard shard = {}) {
  const EntryInfo entry = computedEntry();
  auto loader = BatchLoader::create(entry, data, shard, options).take();
  EXPECT_TRUE(loader->start(pass).ok());
  std::string text;
  while (true) {
    Result<const Batch *> next = loader->next();
    if (!next.ok())
      return text + " " + std::string(next.status().message());
    if (!*next)
      return text + " " + std::to_string(loader->badRecords().value_or(0));
    const Batch &batch = **next;
    text += "|";
    EXPECT_EQ(batch.samples.size(), static_cast<size_t>(batch.valid));
    for (size_t row = 0; row < 4; ++row) {
      float image[6];
      int32_t label;
      std::memcpy(image, batch.inputs[0].data() + row * sizeof(image), sizeof(image));
      std::memcpy(&label, batch.inputs[1].data() + row * sizeof(label), sizeof(label));
      const bool isValid = row < batch.samples.size();
      const auto sample = static_cast<float>(isValid ? batch.samples[row] : 0);
      EXPECT_EQ(image[0], sample);
      EXPECT_EQ(image[5], isValid ? sample + 5.0f / 8 : 0);
      EXPECT_EQ(label, int(sample) % 10);
      if (isValid)
        text += std::to_string(batch.samples[row]) + " ";
    }
  }
}

// In training the next readable sample of the order takes the place of a damaged one, behind the
// last the first; an evaluation does without. More than are allowed fail where the first one does.
TEST(Batches, LeaveOutDamagedSamples) {
  const Pass training{.seed = {}}, evaluation{.seed = {}, .keepPartial = true};
  auto data = std::make_shared<PartlyDamaged>(10, std::set<uint64_t>{1, 2, 7});
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 3}, training), "|0 3 3 3 |4 5 6 8  3");
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 3}, evaluation), "|0 3 |4 5 6 |8 9  3");
  EXPECT_EQ(samplesOf(data, {}, training), " record 1");
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 1}, training),
            " record 2; `maxBadRecords` leaves out 1");
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 2}, training),
            "|0 3 3 3  record 7; `maxBadRecords` leaves out 2");
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 2}, evaluation),
            "|0 3  record 7; `maxBadRecords` leaves out 2");
  data->damaged = {5, 6, 7};
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 9}, training), "|0 1 2 3 |4 8 8 8  3");
  data->damaged = {6, 7, 8, 9};
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 9}, training), "|0 1 2 3 |4 5 0 0  4");
  data->damaged = {0, 1, 2, 3};
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 9}, evaluation), "||4 5 6 7 |8 9  4");
  data->damaged = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 10}, training),
            " computed: none of its 10 samples can be read");
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 9}, training),
            " record 9; `maxBadRecords` leaves out 9");
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 10}, evaluation), "||| 10");
}

// What is no damage is an error as ever.
TEST(Batches, LeaveOutNothingElse) {
  auto data = std::make_shared<PartlyDamaged>(8, std::set<uint64_t>{});
  data->mislabelled = 5;
  EXPECT_EQ(samplesOf(data, {.maxBadRecords = 9}, {.seed = {}}),
            "|0 1 2 3  computed: 'label': sample 5 has value 10 for input 'label', allowed are 0 "
            "to 9");
}

// The batches are those of any number of threads and ranks, and of a pass that begins in its
// middle.
TEST(Batches, AreTheSameWithoutDamagedSamples) {
  std::set<uint64_t> damaged;
  for (uint64_t i = 0; i < 403; i += 7)
    damaged.insert(i * i % 403);
  auto data = std::make_shared<PartlyDamaged>(403, damaged);
  const Pass pass{.seed = 5, .epoch = 2};
  const std::string expected =
      samplesOf(data, {.workers = 1, .ahead = 1, .maxBadRecords = 99}, pass);
  for (unsigned workers : {2u, 7u})
    for (unsigned ahead : {1u, 5u})
      EXPECT_EQ(samplesOf(data, {.workers = workers, .ahead = ahead, .maxBadRecords = 99}, pass),
                expected);
  const std::string limited = samplesOf(data, {.workers = 1, .maxBadRecords = 20}, pass);
  EXPECT_EQ(samplesOf(data, {.workers = 5, .ahead = 9, .maxBadRecords = 20}, pass), limited);
  EXPECT_TRUE(limited.ends_with("`maxBadRecords` leaves out 20")) << limited;
  auto batchesOf = [](const std::string &text) {
    std::vector<std::string> all;
    for (size_t at = 0; (at = text.find('|', at)) != text.npos; ++at)
      all.push_back(text.substr(at, text.find_first_of("|", at + 1) - at));
    all.back().resize(all.back().rfind("  "));
    all.back() += ' ';
    return all;
  };
  const std::vector<std::string> all = batchesOf(expected);
  ASSERT_EQ(all.size(), 100u);
  for (unsigned rank : {0u, 1u}) {
    const auto own = batchesOf(
        samplesOf(data, {.maxBadRecords = 99}, pass, {.rank = rank, .ranks = 2, .even = true}));
    ASSERT_EQ(own.size(), 50u);
    for (size_t i = 0; i < own.size(); ++i)
      EXPECT_EQ(own[i], all[2 * i + rank]);
  }
  const auto rest =
      batchesOf(samplesOf(data, {.maxBadRecords = 99}, {.seed = 5, .epoch = 2, .firstBatch = 37}));
  EXPECT_EQ(rest, std::vector<std::string>(all.begin() + 37, all.end()));
}

// A log hears of the first ones, once each, however many passes there are.
TEST(Batches, NameTheFirstDamagedSamples) {
  const EntryInfo entry = computedEntry();
  auto data = std::make_shared<PartlyDamaged>(40, std::set<uint64_t>{1, 2, 3, 11, 12, 17, 30});
  auto loader = BatchLoader::create(entry, data, {}, {.maxBadRecords = 7}).take();
  std::string heard;
  loader->setLog([&](Severity severity, std::string_view line) {
    EXPECT_EQ(severity, Severity::Warning);
    heard += std::string(line) + "\n";
  });
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(loader->start({.seed = {}}).ok());
    while (loader->next().take()) {
    }
    EXPECT_EQ(loader->badRecords(), 7u);
  }
  EXPECT_EQ(heard, "record 1; it is left out\nrecord 2; it is left out\nrecord 3; it is left out\n"
                   "record 11; it is left out\nrecord 12; it is left out, as further ones are that "
                   "have no line of their own\n");
}

/// Numbers as a tokenizer writes them, behind llm.c's header if there is a magic number.
template <typename Number>
void writeTokens(const std::string &path, const std::vector<int> &tokens, uint32_t magic = 0,
                 uint32_t claimed = 0) {
  std::vector<std::byte> content;
  auto append = [&](auto number) {
    const auto *bytes = reinterpret_cast<const std::byte *>(&number);
    content.insert(content.end(), bytes, bytes + sizeof(number));
  };
  if (magic != 0)
    for (uint32_t i = 0; i < 256; ++i)
      append(i == 0 ? magic : i == 1 ? 1u : i == 2 ? claimed : 0u);
  for (int token : tokens)
    append(static_cast<Number>(token));
  writeFile(path, content);
}

/// The first batch of a model that takes two rows of three of `classes` tokens, and what follows.
std::string firstBatch(const std::string &data, Split split, uint32_t classes = 50257) {
  ValueInfo word = inputOf("word", DLC_I32, {2, 3}), next = inputOf("next", DLC_I32, {2, 3});
  word.batchAxis = next.batchAxis = 0;
  word.classes = next.classes = classes;
  const EntryInfo entry = entryWith({word, next}, 2);
  auto opened = openDataset(data, split);
  if (!opened.ok())
    return std::string(opened.status().message());
  auto loader = BatchLoader::create(entry, *opened);
  if (!loader.ok())
    return std::string(loader.status().message());
  EXPECT_TRUE((*loader)->start({.seed = {}}).ok());
  auto batch = (*loader)->next();
  if (!batch.ok())
    return std::string(batch.status().message());
  std::string text;
  for (std::span<const std::byte> block : (*batch)->inputs)
    for (const auto &row : rowsOf(block, 2, true)) {
      for (int number : row)
        text += std::to_string(number) + " ";
      text += "| ";
    }
  return text;
}

// Tokens of 16 and 32 bits, in a file that is divided or in two of a folder.
TEST(Tokens, AreRead) {
  TemporaryFolder folder;
  std::vector<int> tokens;
  for (int i = 0; i < 80; ++i)
    tokens.push_back(i * 601 % 50257);
  const std::string file = folder.path("a.bin"), trained =
                                                     "0 601 1202 | 21035 21636 22237 | 601 1202 "
                                                     "1803 | 21636 22237 22838 | ";
  writeTokens<uint16_t>(file, tokens);
  EXPECT_EQ(firstBatch("tokens:" + file, Split::Train), trained);
  EXPECT_EQ(firstBatch("tokens:" + file, Split::Test),
            "43272 43873 44474 | 45075 45676 46277 | 43873 44474 45075 | 45676 46277 46878 | ");
  writeTokens<uint16_t>(file, tokens, 20240520, 80);
  EXPECT_EQ(firstBatch("tokens:" + file, Split::Train), trained);
  writeTokens<uint32_t>(file, tokens, 20240801, 80);
  EXPECT_EQ(firstBatch("tokens:" + file, Split::Train), trained);
  const std::string both = "tokens:" + folder.root();
  writeTokens<uint16_t>(folder.path("train.bin"), tokens);
  EXPECT_FALSE(hasSplit(both, Split::Test));
  writeTokens<uint16_t>(folder.path("val.bin"), {9, 8, 7, 6, 5, 4, 3});
  EXPECT_TRUE(hasSplit(both, Split::Test));
  EXPECT_EQ(openDataset(both, Split::Train).take()->size(), 79u);
  EXPECT_EQ(firstBatch(both, Split::Test), "9 8 7 | 6 5 4 | 8 7 6 | 5 4 3 | ");
}

TEST(Tokens, SayWhatIsWrong) {
  TemporaryFolder folder;
  const std::string file = folder.path("a.bin"), data = "tokens:" + file;
  writeTokens<uint16_t>(file, {0, 1});
  EXPECT_EQ(firstBatch(data, Split::Test),
            file + ": 2 numbers are nothing to learn from, and a tenth of it to test with");
  writeTokens<uint8_t>(file, {0, 1, 0});
  EXPECT_EQ(firstBatch(data, Split::Train), file + ": 3 bytes are no numbers of 16 bits");
  writeTokens<uint16_t>(file, {0, 1}, 20240520, 3);
  EXPECT_EQ(firstBatch(data, Split::Train),
            file + ": the header claims 3 numbers of 16 bits, 4 bytes follow");
  writeText(file, "this is a text, and not what a tokenizer makes of it");
  EXPECT_EQ(firstBatch(data, Split::Train),
            file + ": is text, expected numbers of 16 bits; text:FILE takes a text");
  std::vector<int> tokens(40, 7);
  tokens[1] = 300;
  writeTokens<uint16_t>(file, tokens);
  EXPECT_EQ(firstBatch(data, Split::Train, 256),
            file + ": sample 1 has value 300 for input 'word', allowed are 0 to 255");
  writeTokens<uint32_t>(file, {-1, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 20240801, 10);
  EXPECT_EQ(firstBatch(data, Split::Train),
            file + ": number 0 is 4294967295, more than any vocabulary has");
  EXPECT_TRUE(firstBatch("tokens:" + folder.path("none"), Split::Train)
                  .starts_with(folder.path("none") + ": "));
}

} // namespace
