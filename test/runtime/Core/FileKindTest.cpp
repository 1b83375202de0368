// What files of other programs are called, by their first bytes.
#include "runtime/Core/FileKind.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;
using namespace std::string_literals;

namespace {

std::string kindOf(const std::string &content) {
  return std::string(fileKind(std::as_bytes(std::span(content))));
}

/// The local header of the first file in a zip archive.
std::string zipWith(const std::string &name) {
  std::string header = "PK\3\4" + std::string(26, '\0');
  header[26] = static_cast<char>(name.size());
  return header + name + std::string(20, '\1');
}

TEST(FileKind, CallsFilesByTheirNames) {
  EXPECT_EQ(kindOf(zipWith("archive/data.pkl")), "a zip archive of PyTorch's torch.save");
  EXPECT_EQ(kindOf(zipWith("image.npy")), "a zip archive of NumPy's savez (.npz)");
  EXPECT_EQ(kindOf(zipWith("x")), "a zip archive");
  EXPECT_EQ(kindOf("PK\3\4"), "a zip archive");
  EXPECT_EQ(kindOf("PK\5\6" + std::string(18, '\0')), "a zip archive");
  EXPECT_EQ(kindOf("\x80\2}q\0."s), "a Python pickle, as pickle.dump and an old torch.save write");
  EXPECT_EQ(kindOf("\x89HDF\r\n\x1a\n" + std::string(8, '\0')),
            "an HDF5 file, as Keras and h5py write");
  EXPECT_EQ(kindOf("\x93NUMPY\1\0v\0"s), "a NumPy array (.npy)");
  EXPECT_EQ(kindOf("\x1f\x8b\x08\0"s), "compressed by gzip");
  EXPECT_EQ(kindOf("\x7f"
                   "ELF\2\1\1"),
            "an ELF file, as modules of dlc and programs are");
  EXPECT_EQ(kindOf("\x08\x07\x12\x07pytorch\x1a\x03"), "an ONNX model");
  EXPECT_EQ(kindOf("\0\0\x08\3\0\0\0\5"s), "an IDX file, as MNIST's are");
  EXPECT_EQ(kindOf("\x09\0\0\0\0\0\0\0{\"a\": 1}"s), "a safetensors file");
  EXPECT_EQ(kindOf(std::string(257, '\0') + "ustar"), "a tar archive");
  EXPECT_EQ(kindOf("GIF89a\1\0"s), "a picture (GIF)");
  EXPECT_EQ(kindOf("RIFF\1\0\0\0WEBPVP8 "s), "a picture (WebP)");
  EXPECT_EQ(kindOf(" {\"a\": 1}\n"), "JSON");
  EXPECT_EQ(kindOf("model Net {\n\treturn x\r\n}"), "text");
}

TEST(FileKind, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_EQ(kindOf(""), "");
  EXPECT_EQ(kindOf("\1\2\3"), "");
  EXPECT_EQ(kindOf(std::string(64, '\0')), "");
  EXPECT_EQ(kindOf("\xff\0\0\0\0\0\0\x70{"s), ""); // a header larger than any
  EXPECT_EQ(fileKind(std::string("/nowhere/at/all")), "");
}

// A text may begin as something else does, and end within a character where it was cut.
TEST(FileKind, KnowsTextFirst) {
  EXPECT_EQ(kindOf("BZh is how bzip2 begins"), "text");
  EXPECT_EQ(kindOf("GGUF"), "text");
  EXPECT_TRUE(isTextKind(kindOf("text")) && isTextKind(kindOf("[1]")));
  EXPECT_FALSE(isTextKind("") || isTextKind("a zip archive"));
  TemporaryFolder folder;
  std::string text;
  while (text.size() < 2 * fileKindBytes)
    text += "x\u20ac\n"; // of 5 bytes: the limit falls into one
  for (size_t skip = 0; skip < 5; ++skip) {
    const std::string part = text.substr(skip == 0 ? 0 : 5).insert(0, skip, 'y');
    const auto bytes = std::as_bytes(std::span(part));
    writeFile(folder.path("t"), {bytes.begin(), bytes.end()});
    EXPECT_EQ(fileKind(folder.path("t")), "text") << skip;
  }
}

// What begins a file decides nothing else: each cut and each first byte is some kind or none.
TEST(FileKind, TakesAnyBytes) {
  const std::string whole = zipWith("archive/data.pkl");
  for (size_t size = 0; size <= whole.size(); ++size)
    for (int first = 0; first < 256; first += 5) {
      std::string content = whole.substr(0, size);
      if (size > 27)
        content[26] = content[27] = static_cast<char>(first); // the name's length
      EXPECT_LE(kindOf(content).size(), 100u);
    }
}

} // namespace
