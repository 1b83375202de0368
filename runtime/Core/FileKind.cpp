// The magic numbers.
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes, kind;
  size_t at = 0;
};

constexpr std::string_view textKind = "text", jsonKind = "JSON";

constexpr Magic magics[] = {
    {"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras and h5py write"},
    {"\x93NUMPY", "a NumPy array (.npy)"},
    {"\x7f"
     "ELF",
     "an ELF file, as modules of dlc and programs are"},
    {"\x1f\x8b", "compressed by gzip"},
    {"\xfd"
     "7zXZ",
     "compressed by xz"},
    {"BZh", "compressed by bzip2"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd"},
    {"ustar", "a tar archive", 257},
    {"\x89PNG", "a picture (PNG)"},
    {"\xff\xd8\xff", "a picture (JPEG)"},
    {"GIF8", "a picture (GIF)"},
    {"WEBP", "a picture (WebP)", 8},
    {"GGUF", "a GGUF file"},
    {"PAR1", "a Parquet file"},
    {"\0\0\x08\1"sv, "an IDX file, as MNIST's are"},
    {"\0\0\x08\3"sv, "an IDX file, as MNIST's are"},
};

/// By the name of the first file in it.
std::string_view kindOfZip(std::string_view begin) {
  constexpr size_t lengthAt = 26, nameAt = 30;
  if (begin.size() >= nameAt) {
    const size_t length = static_cast<uint8_t>(begin[lengthAt]) +
                          static_cast<uint8_t>(begin[lengthAt + 1]) * size_t(256);
    const std::string_view name = begin.substr(nameAt, length);
    if (name.ends_with("/data.pkl"))
      return "a zip archive of PyTorch's torch.save";
    if (name.ends_with(".npy"))
      return "a zip archive of NumPy's savez (.npz)";
  }
  return "a zip archive";
}

/// A Python pickle of protocol 2 to 5.
bool isPickle(std::string_view begin) {
  return begin.size() >= 2 && begin[0] == '\x80' && begin[1] >= 2 && begin[1] <= 5;
}

/// A protocol buffer whose first field is a small version and the next one another of a model's.
bool isOnnx(std::string_view begin) {
  constexpr std::string_view fields = "\x12\x1a\x22\x3a\x42";
  return begin.size() >= 3 && begin[0] == 8 && begin[1] > 0 && begin[1] < 32 &&
         fields.find(begin[2]) != fields.npos;
}

/// Its length, then the header, which is an object of JSON.
bool isSafetensors(std::string_view begin) {
  constexpr uint64_t mostHeader = 100'000'000;
  uint64_t length = 0;
  if (begin.size() <= sizeof(length))
    return false;
  std::memcpy(&length, begin.data(), sizeof(length));
  return length >= 2 && length <= mostHeader && begin[sizeof(length)] == '{';
}

/// The last character of so many bytes may have been cut.
bool isText(std::string_view begin) {
  constexpr size_t longestCharacter = 4;
  std::string line(begin);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r' || c == '\t' || c == '\f'; }, ' ');
  const size_t most = begin.size() < fileKindBytes ? 1 : longestCharacter;
  for (size_t cut = 0; cut < most && !line.empty(); ++cut, line.pop_back())
    if (isPrintableUtf8(line))
      return true;
  return false;
}

} // namespace

std::string_view fileKind(std::span<const std::byte> begin) {
  const std::string_view text(reinterpret_cast<const char *>(begin.data()), begin.size());
  // First of all: a text may begin with the letters of a magic number.
  if (isText(text)) {
    const size_t first = text.find_first_not_of(" \n\r\t");
    return first != text.npos && (text[first] == '{' || text[first] == '[') ? jsonKind : textKind;
  }
  for (const Magic &magic : magics)
    if (text.size() >= magic.at && text.substr(magic.at).starts_with(magic.bytes))
      return magic.kind;
  if (text.starts_with("PK\3\4") || text.starts_with("PK\5\6"))
    return kindOfZip(text);
  if (isPickle(text))
    return "a Python pickle, as pickle.dump and an old torch.save write";
  if (isOnnx(text))
    return "an ONNX model";
  return isSafetensors(text) ? safetensorsKind : std::string_view();
}

bool isTextKind(std::string_view kind) { return kind == textKind || kind == jsonKind; }

std::string_view fileKind(const File &file) {
  std::byte begin[fileKindBytes];
  const std::span all(begin, std::min<uint64_t>(file.size(), sizeof(begin)));
  return file.readAt(0, all).ok() ? fileKind(all) : std::string_view();
}

std::string_view fileKind(const std::string &path) {
  Result<File> file = File::openForReading(path);
  return file.ok() ? fileKind(*file) : std::string_view();
}

} // namespace dlc::runtime
