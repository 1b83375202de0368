// Arrays of files, the datasets made of them, and CIFAR's records.
#include "runtime/Data/ArrayFile.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Data/Safetensors.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <sys/resource.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

std::vector<std::byte> bytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <typename T> std::vector<std::byte> elements(std::initializer_list<T> values) {
  const auto bytes = std::as_bytes(std::span(values.begin(), values.size()));
  return {bytes.begin(), bytes.end()};
}

/// A .npy file as numpy.save writes it.
std::vector<std::byte> npy(std::string header, const std::vector<std::byte> &data,
                           uint8_t version = 1) {
  const size_t lengthBytes = version == 1 ? 2 : 4;
  while ((8 + lengthBytes + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  std::string text("\x93NUMPY");
  text += static_cast<char>(version);
  text += '\0';
  for (size_t i = 0; i < lengthBytes; ++i)
    text += static_cast<char>(header.size() >> 8 * i);
  std::vector<std::byte> content = bytesOf(text + header);
  content.insert(content.end(), data.begin(), data.end());
  return content;
}

std::string headerOf(std::string_view descr, std::string_view shape) {
  return "{'descr': '" + std::string(descr) +
         "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }";
}

/// `level` 0 stores, as numpy.savez does.
void writeNpz(const std::string &path,
              const std::vector<std::pair<std::string, std::vector<std::byte>>> &files, int level) {
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  ASSERT_NE(zip, nullptr);
  for (const auto &[name, content] : files) {
    ASSERT_EQ(zipOpenNewFileInZip64(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr,
                                    level == 0 ? 0 : Z_DEFLATED, level, 0),
              ZIP_OK);
    ASSERT_EQ(zipWriteInFileInZip(zip, content.data(), unsigned(content.size())), ZIP_OK);
    ASSERT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  }
  ASSERT_EQ(zipClose(zip, nullptr), ZIP_OK);
}

Result<std::vector<StoredArray>> readAll(const std::string &path) {
  return readArrays(path, [](std::string_view) { return true; });
}

class Arrays : public testing::Test {
protected:
  /// The reader's message about a file with this content, behind its path; "read" if it accepts it.
  std::string messageFor(const std::vector<std::byte> &content) {
    writeFile(path, content);
    auto arrays = readAll(path);
    if (arrays.ok())
      return "read";
    const std::string message(arrays.status().message());
    EXPECT_TRUE(message.starts_with(path + ": ")) << message;
    return message.substr(path.size() + 2);
  }

  TemporaryFolder folder;
  std::string path = folder.path("x");
};

TEST_F(Arrays, ReadNpy) {
  for (uint8_t version : {1, 2, 3}) {
    writeFile(path, npy(headerOf("<i4", "(2, 3)"), elements<int32_t>({1, 2, 3, 4, 5, 6}), version));
    auto arrays = readAll(path);
    ASSERT_TRUE(arrays.ok()) << arrays.status().message();
    ASSERT_EQ(arrays->size(), 1u);
    const StoredArray &array = (*arrays)[0];
    EXPECT_EQ(array.name, "");
    EXPECT_EQ(array.dtype, DLC_I32);
    EXPECT_EQ(array.shape, (std::vector<uint64_t>{2, 3}));
    EXPECT_EQ(array.bytes, elements<int32_t>({1, 2, 3, 4, 5, 6}));
  }
  EXPECT_EQ(messageFor(npy(headerOf("<f8", "()"), elements<double>({0.5}))), "read");
  EXPECT_EQ(messageFor(npy(headerOf("|u1", "(0, 3)"), {})), "read");
  EXPECT_EQ(messageFor(npy(headerOf("|b1", "(1,)"), elements<uint8_t>({1}))), "read");
}

// Whole numbers of types that dlc has not are those of the next wider one.
TEST_F(Arrays, WidenWholeNumbers) {
  auto expectRead = [&](const char *descr, const std::vector<std::byte> &stored, dlc_dtype dtype,
                        const std::vector<std::byte> &wide) {
    writeFile(path, npy(headerOf(descr, "(2,)"), stored));
    auto arrays = readAll(path);
    ASSERT_TRUE(arrays.ok()) << arrays.status().message();
    EXPECT_EQ((*arrays)[0].dtype, dtype) << descr;
    EXPECT_EQ((*arrays)[0].bytes, wide) << descr;
  };
  expectRead("|i1", elements<int8_t>({-128, 127}), DLC_I32, elements<int32_t>({-128, 127}));
  expectRead("<i2", elements<int16_t>({-32768, 5}), DLC_I32, elements<int32_t>({-32768, 5}));
  expectRead("<u2", elements<uint16_t>({0, 65535}), DLC_I32, elements<int32_t>({0, 65535}));
  expectRead("<u4", elements<uint32_t>({0, UINT32_MAX}), DLC_I64,
             elements<int64_t>({0, int64_t(UINT32_MAX)}));
  EXPECT_EQ(messageFor(npy(headerOf("<i2", "(2,)"), elements<int8_t>({1, 2}))),
            "the .npy header claims '<i2' as i32[2], behind it stand 2 bytes");
}

// Either byte order and Fortran's order, as numpy.savez has written them, beside what NumPy makes
// of them as rows of little-endian numbers.
TEST_F(Arrays, ConvertOrders) {
  const std::string path = DLC_TEST_INPUTS "/numbers/orders.npz", ending = ".expected";
  auto arrays = readAll(path);
  ASSERT_TRUE(arrays.ok()) << arrays.status().message();
  EXPECT_EQ(arrays->size(), 32u);
  for (const StoredArray &array : *arrays)
    for (const StoredArray &expected : *arrays)
      if (expected.name == array.name + ending) {
        EXPECT_EQ(array.dtype, expected.dtype) << array.name;
        EXPECT_EQ(array.shape, expected.shape) << array.name;
        EXPECT_EQ(array.bytes, expected.bytes) << array.name;
      }
}

TEST_F(Arrays, SayWhatIsWrongWithNpy) {
  const auto one = elements<float>({1});
  EXPECT_EQ(messageFor(npy(headerOf("<c8", "(1,)"), one)),
            "elements of type '<c8', expected one of f4, f8, f2, i1, i2, i4, i8, u1, u2, u4, b1 "
            "in either byte order; save it as float32 or int32: .astype(np.int32)");
  EXPECT_EQ(messageFor(npy(headerOf("<U3", "(1,)"), one)),
            "elements of type '<U3', expected one of f4, f8, f2, i1, i2, i4, i8, u1, u2, u4, b1 "
            "in either byte order; numpy.unique(x, return_inverse=True)[1] makes "
            "class numbers of texts");
  for (const char *descr : {"=f4", "|f4", ">u8", "<f16", "<V4", "f4", "<"})
    EXPECT_TRUE(messageFor(npy(headerOf(descr, "(1,)"), one)).starts_with("elements of type"));
  EXPECT_EQ(messageFor(npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", one)),
            "the .npy header does not say the elements' order");
  EXPECT_EQ(messageFor(npy("{'descr': '>f4', 'fortran_order': True, 'shape': (2,), }", one)),
            "the .npy header claims f32[2], behind it stand 4 bytes");
  EXPECT_EQ(messageFor(npy(headerOf(">f2", "(1152921504606846976,)"), one)).substr(0, 22),
            "the .npy header claims");
  EXPECT_EQ(messageFor(npy(headerOf("<f4", "(2,)"), one)),
            "the .npy header claims f32[2], behind it stand 4 bytes");
  EXPECT_EQ(
      messageFor(npy(headerOf("<f4", "(4294967296, 4294967296, 4294967296)"), one)).substr(0, 22),
      "the .npy header claims");
  for (const char *shape : {"(x,)", "(-1,)", "3", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"})
    EXPECT_EQ(messageFor(npy(headerOf("<f4", shape), one)),
              "the .npy header has no shape of at most 8 axes");
  EXPECT_EQ(messageFor(npy("{'descr': '<f4', 'shape': (1,), }", one)),
            "the .npy header does not say the elements' order");
  EXPECT_EQ(messageFor(npy(headerOf("<f4", "(1,)"), one, 4)), "version 4 of .npy, expected 1 to 3");
  auto cut = npy(headerOf("<f4", "(1,)"), one);
  for (size_t size = 0; size < cut.size(); ++size)
    EXPECT_NE(messageFor({cut.begin(), cut.begin() + ptrdiff_t(size)}), "read") << size;
}

TEST_F(Arrays, ReadNpz) {
  for (int level : {0, 6}) {
    writeNpz(path,
             {{"image.npy", npy(headerOf("<f4", "(2, 1)"), elements<float>({1, 2}))},
              {"label.npy", npy(headerOf("<i8", "(2,)"), elements<int64_t>({7, 8}))}},
             level);
    auto arrays = readAll(path);
    ASSERT_TRUE(arrays.ok()) << arrays.status().message();
    ASSERT_EQ(arrays->size(), 2u);
    EXPECT_EQ((*arrays)[0].name, "image");
    EXPECT_EQ((*arrays)[0].bytes, elements<float>({1, 2}));
    EXPECT_EQ((*arrays)[1].name, "label");
    EXPECT_EQ((*arrays)[1].dtype, DLC_I64);
    EXPECT_EQ((*arrays)[1].bytes, elements<int64_t>({7, 8}));
    std::remove(path.c_str());
  }
}

// Each byte that is changed, and each length that is cut to, is an error or does not matter.
TEST_F(Arrays, SurviveDamagedNpz) {
  writeNpz(path, {{"a.npy", npy(headerOf("<f4", "(2,)"), elements<float>({1, 2}))}}, 6);
  const std::vector<std::byte> whole = readFile(path);
  auto expectErrorOrTheSame = [&](const std::vector<std::byte> &content, size_t at) {
    writeFile(path, content);
    auto arrays = readAll(path);
    if (arrays.ok() && !arrays->empty())
      EXPECT_EQ((*arrays)[0].bytes, elements<float>({1, 2})) << at;
  };
  for (size_t size = 0; size < whole.size(); ++size)
    expectErrorOrTheSame({whole.begin(), whole.begin() + ptrdiff_t(size)}, size);
  for (size_t at = 0; at < whole.size(); ++at) {
    auto changed = whole;
    changed[at] ^= std::byte(0xff);
    expectErrorOrTheSame(changed, at);
  }
  writeNpz(folder.path("y"), {{"a.txt", bytesOf("text")}}, 0);
  EXPECT_EQ(readAll(folder.path("y")).status().message(),
            folder.path("y") + ": 'a.txt' in it is no .npy file");
  // What a name promises, and no other format, is missed.
  std::ofstream(folder.path("none.npz")) << "\1\2\3\4";
  EXPECT_EQ(readAll(folder.path("none.npz")).status().message(),
            folder.path("none.npz") + ": it does not begin as a .npz file does");
  std::ofstream(folder.path("text.npz")) << "hello";
  EXPECT_EQ(readAll(folder.path("text.npz")).status().message(),
            folder.path("text.npz") + ": is text, expected arrays: numpy.savez and "
                                      "safetensors.torch.save_file write them");
}

// Sizes that an archive claims beyond its own are not asked memory for.
TEST_F(Arrays, BoundDamagedNpz) {
  writeNpz(path, {{"a.npy", npy(headerOf("<f4", "(2,)"), elements<float>({1, 2}))}}, 6);
  std::vector<std::byte> content = readFile(path);
  const auto listed = bytesOf("PK\1\2");
  auto entry = std::ranges::search(content, listed).begin();
  ASSERT_NE(entry, content.end());
  constexpr ptrdiff_t compressedPlace = 20, sizePlace = 24;
  const uint32_t compressed = 0x7fffffff, size = 0xf0000000;
  std::memcpy(&*(entry + compressedPlace), &compressed, sizeof(compressed));
  std::memcpy(&*(entry + sizePlace), &size, sizeof(size));
  writeFile(path, content);
  auto mostMemory = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss; // KiB
  };
  const long before = mostMemory();
  EXPECT_EQ(readAll(path).status().message(), path + ": damaged zip archive");
  EXPECT_LT(mostMemory() - before, 1 << 20);
}

void writeSafetensors(const std::string &path, const std::vector<StoredArray> &arrays) {
  std::vector<StoredTensor> tensors;
  for (const StoredArray &array : arrays)
    tensors.push_back({array.name, array.dtype, array.shape, 0, 0, ""});
  auto writer = SafetensorsWriter::create(path, tensors, {});
  ASSERT_TRUE(writer.ok());
  for (const StoredArray &array : arrays)
    ASSERT_TRUE(writer->append(array.bytes).ok());
  ASSERT_TRUE(writer->commit().ok());
}

// Any number of inputs, by name, whatever the order; element types are converted by value, bytes to
// floats as a picture's.
TEST_F(Arrays, FeedInputsByName) {
  writeSafetensors(path, {{"left", DLC_F64, {2, 2}, elements<double>({1, 2, 3, 4})},
                          {"label", DLC_I64, {2}, elements<int64_t>({-5, 6})},
                          {"picture", DLC_U8, {2, 1}, elements<uint8_t>({0, 255})},
                          {"unused", DLC_F32, {2}, elements<float>({9, 9})}});
  auto data = openDataset("safetensors:" + path, Split::Train);
  ASSERT_TRUE(data.ok()) << data.status().message();
  const EntryInfo entry =
      entryWith({inputOf("label", DLC_I32, {2}), inputOf("picture", DLC_F32, {2, 1}),
                 inputOf("left", DLC_F32, {2, 2})},
                2);
  auto loader = BatchLoader::create(entry, data.take());
  ASSERT_TRUE(loader.ok()) << loader.status().message();
  ASSERT_TRUE((*loader)->start({}).ok());
  const Batch *batch = (*loader)->next().take();
  ASSERT_NE(batch, nullptr);
  auto front = [&](size_t input, size_t size) {
    return std::vector<std::byte>(batch->inputs[input].begin(),
                                  batch->inputs[input].begin() + ptrdiff_t(size));
  };
  EXPECT_EQ(front(0, 8), elements<int32_t>({-5, 6}));
  EXPECT_EQ(front(1, 8), elements<float>({0, 1}));
  EXPECT_EQ(front(2, 16), elements<float>({1, 2, 3, 4}));
}

TEST_F(Arrays, SplitByTheirNames) {
  const StoredArray train{"x", DLC_F32, {3}, elements<float>({1, 2, 3})},
      test{"test.x", DLC_F32, {2}, elements<float>({4, 5})};
  writeSafetensors(path, {train, test});
  const std::string data = "safetensors:" + path;
  EXPECT_TRUE(hasSplit(data, Split::Train));
  EXPECT_TRUE(hasSplit(data, Split::Test));
  EXPECT_EQ((*openDataset(data, Split::Train))->size(), 3u);
  auto tests = openDataset(data, Split::Test);
  EXPECT_EQ((*tests)->size(), 2u);
  EXPECT_EQ((*tests)->fields()[0].name, "x");
  // A file without arrays for tests is all for tests, where one is asked for.
  writeSafetensors(path, {train});
  EXPECT_FALSE(hasSplit(data, Split::Test));
  EXPECT_EQ((*openDataset(data, Split::Test))->size(), 3u);
}

/// What an input of this type is fed of one array called "x", or why it is not.
struct Fed {
  std::string message;
  std::vector<std::byte> bytes;
  std::vector<std::string> notes;
};

Fed feed(const std::string &path, const StoredArray &array, const ValueInfo &input,
         uint64_t batch) {
  writeSafetensors(path, {array});
  const EntryInfo entry = entryWith({input}, batch);
  auto data = openDataset("safetensors:" + path, Split::Train, &entry);
  if (!data.ok())
    return {std::string(data.status().message()), {}, {}};
  auto loader = BatchLoader::create(entry, data.take());
  if (!loader.ok())
    return {std::string(loader.status().message()), {}, {}};
  EXPECT_TRUE(
      (*loader)->start({.seed = {}, .epoch = 0, .firstBatch = 0, .keepPartial = true}).ok());
  const std::span<const std::byte> block = (*loader)->next().take()->inputs[0];
  return {"", {block.begin(), block.end()}, (*loader)->notes(true)};
}

// By value where the input can hold each; bytes become floats from 0 to 1, floats are rounded.
TEST_F(Arrays, ConvertByValue) {
  auto expectFed = [&](dlc_dtype from, const std::vector<std::byte> &stored, dlc_dtype to,
                       const std::vector<std::byte> &expected) {
    const Fed fed = feed(path, {"x", from, {2}, stored}, inputOf("x", to, {2}), 2);
    EXPECT_EQ(fed.message, "") << from << " to " << to;
    EXPECT_EQ(fed.bytes, expected) << from << " to " << to;
  };
  const std::pair<dlc_dtype, std::vector<std::byte>> types[] = {
      {DLC_F32, elements<float>({0, 3})},         {DLC_F64, elements<double>({0, 3})},
      {DLC_I32, elements<int32_t>({0, 3})},       {DLC_I64, elements<int64_t>({0, 3})},
      {DLC_F16, elements<uint16_t>({0, 0x4200})}, {DLC_BF16, elements<uint16_t>({0, 0x4040})}};
  for (const auto &[from, stored] : types)
    for (const auto &[to, expected] : types)
      expectFed(from, stored, to, expected);
  for (const auto &[from, stored] : types)
    expectFed(from, stored, DLC_U8, elements<uint8_t>({0, 3}));
  // Bytes as a picture's.
  const auto bytes = elements<uint8_t>({0, 255});
  expectFed(DLC_U8, bytes, DLC_F32, elements<float>({0, 1}));
  expectFed(DLC_U8, bytes, DLC_F64, elements<double>({0, 1}));
  expectFed(DLC_U8, bytes, DLC_F16, elements<uint16_t>({0, 0x3c00}));
  expectFed(DLC_U8, bytes, DLC_BF16, elements<uint16_t>({0, 0x3f80}));
  expectFed(DLC_U8, bytes, DLC_I32, elements<int32_t>({0, 255}));
  // Truth values are 0 and 1.
  const auto truths = elements<uint8_t>({0, 1});
  expectFed(DLC_BOOL, truths, DLC_F32, elements<float>({0, 1}));
  expectFed(DLC_BOOL, truths, DLC_I32, elements<int32_t>({0, 1}));
  expectFed(DLC_U8, truths, DLC_BOOL, truths);
  expectFed(DLC_I64, elements<int64_t>({0, 1}), DLC_BOOL, truths);
  expectFed(DLC_F64, elements<double>({0.1, INFINITY}), DLC_F32, elements<float>({0.1f, INFINITY}));
}

TEST_F(Arrays, RefuseNumbersThatDoNotFit) {
  auto message = [&](dlc_dtype from, const std::vector<std::byte> &stored, dlc_dtype to) {
    const std::string text = feed(path, {"x", from, {2}, stored}, inputOf("x", to, {2}), 2).message;
    const std::string begin = path + ": 'x': ";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(std::min(text.size(), begin.size()));
  };
  EXPECT_EQ(message(DLC_I64, elements<int64_t>({0, int64_t(1) << 32}), DLC_I32),
            "sample 1 has 4294967296, which i32 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_F32, elements<float>({2, 0.5}), DLC_I32),
            "sample 1 has 0.5, which i32 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_F64, elements<double>({NAN, 0}), DLC_I64),
            "sample 0 has nan, which i64 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_F64, elements<double>({0, 1e300}), DLC_F32),
            "sample 1 has 1e+300, which f32 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_F32, elements<float>({0, 1e5}), DLC_F16),
            "sample 1 has 1e+05, which f16 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_I32, elements<int32_t>({0, 16777217}), DLC_F32),
            "sample 1 has 16777217, which f32 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_I32, elements<int32_t>({0, 256}), DLC_U8),
            "sample 1 has 256, which u8 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_I32, elements<int32_t>({0, -1}), DLC_U8),
            "sample 1 has -1, which u8 of input 'x' cannot hold");
  EXPECT_EQ(message(DLC_U8, elements<uint8_t>({1, 2}), DLC_BOOL),
            "sample 1 has 2, which bool of input 'x' cannot hold");
  EXPECT_NE(message(DLC_I64, elements<int64_t>({(int64_t(1) << 53) + 4, 0}), DLC_F64), "");
}

// Axes of extent 1 do not matter, a flat side is noted; whatever else differs is refused, also
// where there are as many elements.
TEST_F(Arrays, CompareShapes) {
  auto fed = [&](std::vector<uint64_t> stored, std::vector<uint64_t> input) {
    stored.insert(stored.begin(), 2);
    input.insert(input.begin(), 2);
    const StoredArray array{"x", DLC_F32, stored, std::vector<std::byte>(2 * 36 * sizeof(float))};
    return feed(path, array, inputOf("x", DLC_F32, input), 2);
  };
  for (const std::vector<uint64_t> &same : {std::vector<uint64_t>{6, 6}, {1, 6, 6}, {6, 1, 6, 1}})
    for (const std::vector<uint64_t> &input : {std::vector<uint64_t>{6, 6}, {6, 6, 1}}) {
      EXPECT_EQ(fed(same, input).message, "");
      EXPECT_TRUE(fed(same, input).notes.empty());
    }
  EXPECT_EQ(fed({36}, {3, 4, 3}).notes,
            std::vector<std::string>{
                path + ": f32[N, 36] fills input 'x', f32[N, 3, 4, 3], number by number"});
  EXPECT_EQ(fed({3, 12}, {36}).notes.size(), 1u);
  EXPECT_EQ(fed({3, 12}, {1, 36}).notes.size(), 1u);
  EXPECT_EQ(fed({12, 3}, {3, 12}).message,
            path + ": 'x' is f32[N, 12, 3], input 'x' of entry 'e' takes f32[N, 3, 12]; channels "
                   "come first: transpose(0, 2, 1)");
  EXPECT_EQ(fed({2, 6, 3}, {3, 2, 6}).message,
            path + ": 'x' is f32[N, 2, 6, 3], input 'x' of entry 'e' takes f32[N, 3, 2, 6]; "
                   "channels come first: transpose(0, 3, 1, 2)");
  EXPECT_EQ(fed({2, 3, 2, 3}, {3, 2, 3, 2}).message,
            path + ": 'x' is f32[N, 2, 3, 2, 3], input 'x' of entry 'e' takes f32[N, 3, 2, 3, 2]; "
                   "channels come first: transpose(0, 4, 1, 2, 3)");
  EXPECT_EQ(fed({9, 4}, {3, 3, 4}).message,
            path + ": 'x' is f32[N, 9, 4], input 'x' of entry 'e' takes f32[N, 3, 3, 4]");
  EXPECT_EQ(fed({6, 2, 3}, {2, 6, 3}).message,
            path + ": 'x' is f32[N, 6, 2, 3], input 'x' of entry 'e' takes f32[N, 2, 6, 3]");
}

// Numbers of classes in an array make one-hot rows for an input of floats [N, classes].
TEST_F(Arrays, MakeOneHotRows) {
  const ValueInfo label = inputOf("label", DLC_F32, {2, 3});
  const std::vector<std::byte> rows = elements<float>({0, 0, 1, 1, 0, 0});
  const Fed fed = feed(path, {"label", DLC_I64, {2, 1}, elements<int64_t>({2, 0})}, label, 2);
  EXPECT_EQ(fed.bytes, rows);
  EXPECT_EQ(fed.notes.at(0), path + ": numbers of classes fill input 'label', f32[N, 3], as "
                                    "one-hot rows");
  EXPECT_EQ(feed(path, {"label", DLC_U8, {2}, elements<uint8_t>({2, 0})}, label, 2).bytes, rows);
  EXPECT_EQ(feed(path, {"label", DLC_I32, {2}, elements<int32_t>({2, 3})}, label, 2).message,
            path + ": 'label': sample 1 has value 3 for input 'label', allowed are 0 to 2");
  EXPECT_EQ(feed(path, {"label", DLC_I32, {2}, elements<int32_t>({-1, 0})}, label, 2).message,
            path + ": 'label': sample 0 has value -1 for input 'label', allowed are 0 to 2");
  EXPECT_EQ(feed(path, {"label", DLC_F32, {2}, elements<float>({2, 0})}, label, 2).message,
            path + ": 'label' is f32[N], input 'label' of entry 'e' takes f32[N, 3]");
  EXPECT_EQ(
      feed(path, {"label", DLC_I32, {2, 2}, elements<int32_t>({2, 0, 1, 1})}, label, 2).message,
      path + ": 'label' is i32[N, 2], input 'label' of entry 'e' takes f32[N, 3]");
}

TEST_F(Arrays, AdviseOnOneHotLabels) {
  ValueInfo label = inputOf("label", DLC_I32, {2});
  const StoredArray hot{"label", DLC_F32, {2, 2}, elements<float>({0, 1, 1, 0})};
  const std::string begin =
      path + ": 'label' is f32[N, 2], input 'label' of entry 'e' takes i32[N]";
  const std::string advice =
      "; argmax(1) makes class numbers of one-hot rows, or the model takes label: f32[N, 2]";
  EXPECT_EQ(feed(path, hot, label, 2).message, begin + advice);
  label.classes = 2;
  EXPECT_EQ(feed(path, hot, label, 2).message, begin + advice);
  label.classes = 3;
  EXPECT_EQ(feed(path, hot, label, 2).message, begin);
  // One number a sample, whatever the axes.
  const StoredArray column{"label", DLC_I64, {2, 1}, elements<int64_t>({2, 1})};
  EXPECT_EQ(feed(path, column, label, 2).bytes, elements<int32_t>({2, 1}));
}

// Samples are counted by an array's first axis, and by whichever axis an input has for it.
TEST_F(Arrays, FeedAnyAxisOfSamples) {
  const StoredArray array{
      "x", DLC_F32, {3, 2, 2}, elements<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})};
  auto expectFed = [&](std::vector<uint64_t> shape, uint32_t batchAxis,
                       const std::vector<std::byte> &expected) {
    ValueInfo input = inputOf("x", DLC_F64, std::move(shape));
    input.batchAxis = batchAxis;
    EXPECT_EQ(feed(path, array, input, 4).bytes, expected) << batchAxis;
  };
  // The fourth sample is padding.
  expectFed({4, 2, 2}, 0, elements<double>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0}));
  expectFed({2, 4, 2}, 1, elements<double>({1, 2, 5, 6, 9, 10, 0, 0, 3, 4, 7, 8, 11, 12, 0, 0}));
  expectFed({2, 2, 4}, 2, elements<double>({1, 5, 9, 0, 2, 6, 10, 0, 3, 7, 11, 0, 4, 8, 12, 0}));
  ValueInfo turned = inputOf("x", DLC_F32, {3, 4});
  turned.batchAxis = 1;
  EXPECT_EQ(feed(path, array, turned, 4).message,
            path + ": 'x' is f32[N, 2, 2], input 'x' of entry 'e' takes f32[3, N]");
  turned.batchAxis = DLC_NONE;
  EXPECT_EQ(feed(path, array, turned, 4).message,
            "entry 'e': input 'x' is f32[3, 4], which has no axis N: data feed inputs of samples");
}

// What no input takes is not read, whatever it is; a line says so, and another what is left out.
TEST_F(Arrays, IgnoreWhatNoInputTakes) {
  const StoredArray x{"x", DLC_F32, {3}, elements<float>({1, 2, 3})},
      other{"val.x", DLC_F32, {1, 2}, elements<float>({1, 2})},
      number{"seed", DLC_I64, {}, elements<int64_t>({1})},
      test{"test.x", DLC_F32, {1}, elements<float>({1})};
  const EntryInfo entry = entryWith({inputOf("x", DLC_F32, {2})}, 2);
  auto notes = [&](const std::vector<StoredArray> &arrays, Split split, Shard shard = {}) {
    writeSafetensors(path, arrays);
    auto data = openDataset("safetensors:" + path, split, &entry);
    EXPECT_TRUE(data.ok()) << data.status().message();
    auto loader = BatchLoader::create(entry, data.take(), shard);
    EXPECT_TRUE(loader.ok()) << loader.status().message();
    return (*loader)->notes(split == Split::Test);
  };
  const std::string left =
      path + ": 1 of 3 samples are left out each time, as they do not fill a batch of 2";
  EXPECT_EQ(notes({x}, Split::Train), std::vector<std::string>{left});
  EXPECT_EQ(notes({x}, Split::Test), std::vector<std::string>{});
  EXPECT_EQ(notes({x}, Split::Train, {.rank = 0, .ranks = 2, .even = true}),
            std::vector<std::string>{
                path + ": 3 of 3 samples are left out each time, as they do not fill a batch of 2 "
                       "for each of 2 ranks"});
  EXPECT_EQ(notes({x, other, test}, Split::Test), std::vector<std::string>{});
  EXPECT_EQ(notes({x, number}, Split::Test),
            std::vector<std::string>{path + ": no input takes 'seed'"});
  EXPECT_EQ(notes({x, number, other, test}, Split::Train),
            (std::vector<std::string>{
                path + ": no input takes 'seed', 'val.x'; test data are called test.NAME", left}));
}

TEST_F(Arrays, SayWhatDoesNotFit) {
  auto message = [&](const std::vector<StoredArray> &arrays, std::vector<ValueInfo> inputs,
                     Split split = Split::Train) {
    writeSafetensors(path, arrays);
    const EntryInfo entry = entryWith(std::move(inputs), 2);
    auto data = openDataset("safetensors:" + path, split, &entry);
    if (!data.ok())
      return std::string(data.status().message());
    return std::string(BatchLoader::create(entry, data.take()).status().message());
  };
  const StoredArray image{"image", DLC_F32, {2, 2}, elements<float>({1, 2, 3, 4})},
      label{"label", DLC_I64, {2}, elements<int64_t>({0, 14})},
      short1{"mask", DLC_F32, {1}, elements<float>({1})},
      test{"test.image", DLC_F32, {2, 2}, elements<float>({1, 2, 3, 4})};
  ValueInfo classes = inputOf("label", DLC_I32, {2});
  classes.classes = 13;
  const std::vector<ValueInfo> both = {inputOf("image", DLC_F32, {2, 2}), classes};
  EXPECT_EQ(message({image, label}, {inputOf("imago", DLC_F32, {2, 2})}),
            path + ": no array 'imago' for input 'imago' of entry 'e'; there are: image, label");
  EXPECT_EQ(message({image, label, test}, both, Split::Test),
            path + ": no array 'test.label' for input 'label' of entry 'e'; there are: image, "
                   "label, test.image");
  EXPECT_EQ(message({{"arr_0", DLC_F32, {1}, elements<float>({1})}}, both),
            path + ": no array 'image' for input 'image' of entry 'e'; there are: arr_0; "
                   "numpy.savez(FILE, NAME=...) gives names");
  EXPECT_EQ(message({image, label}, both),
            path + ": 'label': sample 1 has value 14 for input 'label', allowed are 0 to 12");
  const StoredArray counted{"label", DLC_I32, {2}, elements<int32_t>({13, 1})};
  EXPECT_EQ(message({image, counted}, both),
            path + ": 'label': sample 0 has value 13 for input 'label', allowed are 0 to 12; class "
                   "numbers begin with 0");
  EXPECT_EQ(
      message({image, short1}, {inputOf("image", DLC_F32, {2, 2}), inputOf("mask", DLC_F32, {2})}),
      path + ": 'mask' has 1 samples, 'image' 2");
  EXPECT_EQ(message({{"x", DLC_F32, {}, elements<float>({1})}}, {inputOf("x", DLC_F32, {2})}),
            path + ": 'x' is one number, expected one a sample");
  EXPECT_EQ(message({{"x", DLC_F32, {0, 2}, {}}}, {inputOf("x", DLC_F32, {2, 2})}),
            path + ": there are no samples in it");
  EXPECT_EQ(message({}, {}), path + ": there are no arrays of samples in it");
  writeFile(path, npy(headerOf("<f4", "(1,)"), elements<float>({1})));
  EXPECT_EQ(openDataset("npz:" + path, Split::Train).status().message(),
            path + ": is one array without a name (.npy); numpy.savez(\"data.npz\", image=..., "
                   "label=...) gives each input's array its name");
}

std::vector<std::byte> cifarRecords(std::initializer_list<int> labels, int labelBytes) {
  std::vector<std::byte> records;
  for (int label : labels) {
    for (int i = 0; i < labelBytes; ++i)
      records.push_back(std::byte(i == labelBytes - 1 ? label : 99));
    records.insert(records.end(), 3 * 32 * 32, std::byte(label + 100));
  }
  return records;
}

TEST(Cifar, ReadsBothKinds) {
  TemporaryFolder ten, hundred;
  writeFile(ten.path("data_batch_1.bin"), cifarRecords({3, 4}, 1));
  for (int number = 2; number <= 5; ++number)
    writeFile(ten.path("data_batch_" + std::to_string(number) + ".bin"),
              cifarRecords({number + 3}, 1));
  writeFile(hundred.path("train.bin"), cifarRecords({3, 4, 5, 6, 7, 8}, 2));
  for (TemporaryFolder *folder : {&ten, &hundred}) {
    const std::string name = "cifar:" + folder->root();
    auto data = openDataset(name, Split::Train);
    ASSERT_TRUE(data.ok()) << data.status().message();
    ASSERT_EQ((*data)->size(), 6u);
    for (uint64_t i = 0; i < 6; ++i) {
      EXPECT_EQ(int(*(*data)->sample(i, 1)), int(i + 3));
      EXPECT_EQ(int((*data)->sample(i, 0)[0]), int(i + 103));
      EXPECT_EQ(int((*data)->sample(i, 0)[3 * 32 * 32 - 1]), int(i + 103));
    }
    EXPECT_FALSE(hasSplit(name, Split::Test));
    EXPECT_EQ(openDataset(name, Split::Test).status().message(),
              folder->root() +
                  ": no file test_batch.bin or test.bin of the binary version of CIFAR");
  }
  writeFile(ten.path("test_batch.bin"), elements<uint8_t>({1, 2, 3, 4, 5}));
  EXPECT_TRUE(hasSplit("cifar:" + ten.root(), Split::Test));
  EXPECT_EQ(openDataset("cifar:" + ten.root(), Split::Test).status().message(),
            ten.path("test_batch.bin") + ": 5 bytes, expected records of 3073");
  writeFile(ten.path("test_batch.bin"), bytesOf("short"));
  EXPECT_EQ(openDataset("cifar:" + ten.root(), Split::Test).status().message(),
            ten.path("test_batch.bin") + ": is text, expected records of 3073");
}

TEST(Cifar, NamesTheFilesThatAreMissing) {
  TemporaryFolder folder;
  for (int number : {1, 3, 5})
    writeFile(folder.path("data_batch_" + std::to_string(number) + ".bin"), cifarRecords({1}, 1));
  EXPECT_TRUE(hasSplit("cifar:" + folder.root(), Split::Train));
  EXPECT_EQ(openDataset("cifar:" + folder.root(), Split::Train).status().message(),
            folder.root() + ": no file data_batch_2.bin, data_batch_4.bin, a part of the binary "
                            "version of CIFAR-10");
}

} // namespace
