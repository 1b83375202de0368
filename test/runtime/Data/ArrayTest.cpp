// Arrays of files, the datasets made of them, and CIFAR's records.
#include "runtime/Data/ArrayFile.h"
#include "runtime/Data/BatchLoader.h"
#include "runtime/Data/Safetensors.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <minizip/zip.h>

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

TEST_F(Arrays, SayWhatIsWrongWithNpy) {
  const auto one = elements<float>({1});
  EXPECT_EQ(messageFor(npy(headerOf("<c8", "(1,)"), one)),
            "elements of type '<c8', expected '<f4', '<f8', '<f2', '<i4', '<i8', '|u1' or '|b1'");
  EXPECT_EQ(messageFor(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", one)),
            "it lies in Fortran's order; numpy.ascontiguousarray turns it");
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
  std::ofstream(folder.path("text.npz")) << "hello";
  EXPECT_EQ(readAll(folder.path("text.npz")).status().message(),
            folder.path("text.npz") + ": it does not begin as a .npz file does");
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
  const Batch *batch = (*loader)->next();
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

TEST_F(Arrays, SayWhatDoesNotFit) {
  auto message = [&](const std::vector<StoredArray> &arrays, std::vector<ValueInfo> inputs) {
    writeSafetensors(path, arrays);
    auto data = openDataset("safetensors:" + path, Split::Train);
    if (!data.ok())
      return std::string(data.status().message());
    return std::string(
        BatchLoader::create(entryWith(std::move(inputs), 2), data.take()).status().message());
  };
  const StoredArray image{"image", DLC_F32, {2, 2}, elements<float>({1, 2, 3, 4})},
      label{"label", DLC_I64, {2}, elements<int64_t>({0, int64_t(1) << 32})},
      short1{"mask", DLC_F32, {1}, elements<float>({1})};
  EXPECT_EQ(message({image, label}, {inputOf("imago", DLC_F32, {2, 2})}),
            "entry 'e': input 'imago' finds no array of its name in " + path +
                ", which has: image, label");
  EXPECT_EQ(message({image}, {inputOf("image", DLC_I32, {2, 2})}),
            "entry 'e': input 'image' is i32[2, 2], the array 'image' of " + path +
                " f32[2] a sample: these elements are not converted");
  EXPECT_EQ(message({image}, {inputOf("image", DLC_F32, {2, 3})}),
            "entry 'e': input 'image' is f32[2, 3], 3 numbers a sample; the array 'image' of " +
                path + " is f32[2], 2 numbers");
  EXPECT_EQ(message({label}, {inputOf("label", DLC_I32, {2})}),
            "entry 'e': " + path + ": 'label': sample 1 has 4294967296, which i32 cannot hold");
  EXPECT_EQ(message({image, short1}, {}), path + ": 'mask' has 1 samples, 'image' 2");
  EXPECT_EQ(message({{"x", DLC_F32, {}, elements<float>({1})}}, {}),
            path + ": 'x' is one number, expected one a sample");
  EXPECT_EQ(message({{"x", DLC_F32, {0, 2}, {}}}, {}), path + ": there are no samples in it");
  EXPECT_EQ(message({}, {}), path + ": there are no arrays of samples in it");
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
  writeFile(ten.path("test_batch.bin"), bytesOf("short"));
  EXPECT_TRUE(hasSplit("cifar:" + ten.root(), Split::Test));
  EXPECT_EQ(openDataset("cifar:" + ten.root(), Split::Test).status().message(),
            ten.path("test_batch.bin") + ": 5 bytes, expected records of 3073");
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
