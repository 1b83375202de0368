// The formats: numpy.lib.format, versions 1 to 3; zip through minizip.
#include "runtime/Data/ArrayFile.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Data/StoredNumbers.h"

#include <algorithm>
#include <cstring>
#include <minizip/unzip.h>
#include <optional>
#include <span>

namespace dlc::runtime {
namespace {

constexpr std::string_view npyMagic = "\x93NUMPY", zipMagic = "PK";
constexpr uint64_t mostBytes = uint64_t(1) << 40;

// ---------------------------------------------------------------------------------------------
// .npy

/// What stands behind "'key':" in the header, a Python dictionary, up to the ',' that ends it.
std::string_view valueOf(std::string_view header, std::string_view key) {
  const std::string quoted = concat("'", key, "'");
  size_t at = header.find(quoted);
  if (at == header.npos)
    return {};
  at = header.find_first_not_of(" :", at + quoted.size());
  if (at == header.npos)
    return {};
  const std::string_view rest = header.substr(at);
  const size_t end = rest[0] == '(' ? rest.find(')') + 1 : rest.find_first_of(",}");
  return rest.substr(0, end);
}

using Bytes = std::vector<std::byte>;

/// What "'<f4'" stands for; null for what is not read. Bytes have no order.
const StoredType *typeOf(std::string_view descr) {
  if (descr.size() != 5 || descr.front() != '\'' || descr.back() != '\'')
    return nullptr;
  const StoredType *type = findStoredType(descr.substr(2, 2));
  const bool hasOrder = descr[1] == '<' || descr[1] == '>';
  return type && (hasOrder || (descr[1] == '|' && type->bytes == 1)) ? type : nullptr;
}

/// The way out for elements of a type that is not read.
std::string_view adviceFor(std::string_view descr) {
  constexpr std::string_view text = "USO";
  if (descr.size() > 2 && text.find(descr[2]) != text.npos)
    return "; numpy.unique(x, return_inverse=True)[1] makes class numbers of texts";
  return "; save it as float32 or int32: .astype(np.int32)";
}

/// The sizes of "(3, 4)"; nothing for what is no such list.
std::optional<std::vector<uint64_t>> shapeOf(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')'))
    return std::nullopt;
  std::vector<uint64_t> shape;
  for (const char *at = text.data() + 1, *end = text.data() + text.size() - 1; at != end;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    const auto [next, error] = std::from_chars(at, end, shape.emplace_back());
    if (error != std::errc())
      return std::nullopt;
    at = next;
  }
  return shape;
}

/// `place`: "digits.npz: array 'image'", for messages.
Result<StoredArray> parseNpy(Bytes content, std::string name, const std::string &place) {
  const std::string_view text(reinterpret_cast<const char *>(content.data()), content.size());
  constexpr size_t fixed = 8;
  if (!text.starts_with(npyMagic) || text.size() < fixed + 4)
    return damaged(place, ": no .npy file: it does not begin as one");
  const unsigned version = static_cast<uint8_t>(text[6]);
  if (version < 1 || version > 3)
    return damaged(place, ": version ", version, " of .npy, expected 1 to 3");
  const size_t lengthBytes = version == 1 ? 2 : 4;
  uint32_t length = 0;
  std::memcpy(&length, text.data() + fixed, lengthBytes);
  if (!fits(fixed + lengthBytes, length, text.size()))
    return damaged(place, ": the .npy header claims ", length, " bytes, the file ends before");
  const std::string_view header = text.substr(fixed + lengthBytes, length);
  const std::string_view descr = valueOf(header, "descr");
  const StoredType *type = typeOf(descr);
  if (!type) {
    std::string known;
    for (const StoredType &each : storedTypes())
      addItem(known, each.name);
    return unsupported(place, ": elements of type ", descr.empty() ? "?" : excerpt(descr),
                       ", expected one of ", known, " in either byte order", adviceFor(descr));
  }
  const std::string_view order = valueOf(header, "fortran_order");
  if (order != "True" && order != "False")
    return damaged(place, ": the .npy header does not say the elements' order");
  // The header goes before its numbers are looked at.
  const bool isBigEndian = descr[1] == '>', byColumns = order == "True";
  auto shape = shapeOf(valueOf(header, "shape"));
  if (!shape || shape->size() > DLC_MAX_RANK)
    return damaged(place, ": the .npy header has no shape of at most ", DLC_MAX_RANK, " axes");
  const auto count = checkedElementCount(*shape);
  const uint64_t held = text.size() - fixed - lengthBytes - length;
  if (!count || *count > mostBytes || *count * type->bytes != held)
    return damaged(place, ": the .npy header claims ",
                   type->widen ? concat(descr, " as ") : std::string(),
                   TensorType{type->dtype, *shape, {}}.str(), ", behind it stand ", held, " bytes");
  content.erase(content.begin(), content.end() - static_cast<ptrdiff_t>(held));
  if (isBigEndian)
    swapBytes(content, type->bytes);
  if (byColumns)
    content = rowsOfColumns(content, *shape, type->bytes);
  if (type->widen)
    content = type->widen(content);
  return StoredArray{std::move(name), type->dtype, *std::move(shape), std::move(content)};
}

// ---------------------------------------------------------------------------------------------
// .npz

/// A zip archive, closed at the end of its scope.
class ZipReader {
public:
  /// Of a file of so many bytes.
  static Result<ZipReader> open(const std::string &path, uint64_t bytes) {
    unzFile file = unzOpen64(path.c_str());
    if (!file)
      return damaged(path, ": damaged zip archive: it has no list of its files");
    return ZipReader(path, file, bytes);
  }
  ZipReader(ZipReader &&other) noexcept
      : path(other.path), file(std::exchange(other.file, nullptr)), unread(other.unread) {}
  ZipReader &operator=(ZipReader &&) = delete;
  ~ZipReader() {
    if (file)
      unzClose(file);
  }

  /// Goes to the next file, first to the first; false behind the last one.
  Result<bool> next() {
    const int code = begun ? unzGoToNextFile(file) : unzGoToFirstFile(file);
    begun = true;
    if (code == UNZ_END_OF_LIST_OF_FILE)
      return false;
    if (code != UNZ_OK)
      return failed();
    return true;
  }

  /// The name of the file that it stands at.
  Result<std::string> name() {
    constexpr size_t mostName = 4096;
    char name[mostName] = {};
    if (unzGetCurrentFileInfo64(file, nullptr, name, mostName - 1, nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      return failed();
    return std::string(name);
  }

  /// Its content.
  Result<std::vector<std::byte>> read() {
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(file, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK)
      return failed();
    // DEFLATE makes of a byte no more than 1,032, and no two files are of the same bytes: damaged
    // sizes must not ask for all memory.
    constexpr uint64_t bestRatio = 1032;
    if (info.compressed_size > unread || info.uncompressed_size / bestRatio > info.compressed_size)
      return failed();
    unread -= info.compressed_size;
    std::vector<std::byte> content;
    DLC_TRY(reserveRoom(content, info.uncompressed_size).in(path));
    content.resize(info.uncompressed_size);
    if (unzOpenCurrentFile(file) != UNZ_OK)
      return failed();
    for (size_t at = 0; at < content.size();) {
      const auto piece = static_cast<unsigned>(std::min<size_t>(content.size() - at, 1u << 30));
      const int got = unzReadCurrentFile(file, content.data() + at, piece);
      if (got <= 0)
        return failed();
      at += static_cast<size_t>(got);
    }
    if (unzCloseCurrentFile(file) != UNZ_OK) // compares the checksum
      return failed();
    return content;
  }

private:
  ZipReader(const std::string &path, unzFile file, uint64_t bytes)
      : path(path), file(file), unread(bytes) {}
  Status failed() const { return damaged(path, ": damaged zip archive"); }

  const std::string &path;
  unzFile file;
  uint64_t unread; ///< bytes of the archive
  bool begun = false;
};

using Wanted = std::function<bool(std::string_view)>;

Result<std::vector<StoredArray>> readNpz(const std::string &path, uint64_t bytes,
                                         const Wanted &wanted) {
  constexpr std::string_view ending = ".npy";
  std::vector<StoredArray> arrays;
  DLC_TRY_ASSIGN(reader, ZipReader::open(path, bytes));
  while (true) {
    DLC_TRY_ASSIGN(more, reader.next());
    if (!more)
      return arrays;
    DLC_TRY_ASSIGN(name, reader.name());
    if (name.ends_with("/data.pkl"))
      return damaged(path, ": is ", fileKind(path),
                     ", expected arrays: numpy.savez and safetensors.torch.save_file write them");
    if (!name.ends_with(ending))
      return damaged(path, ": '", excerpt(name), "' in it is no .npy file");
    name.resize(name.size() - ending.size());
    if (!wanted(name))
      continue;
    DLC_TRY_ASSIGN(content, reader.read());
    const std::string place = concat(path, ": array '", excerpt(name), "'");
    DLC_TRY_ASSIGN(array, parseNpy(std::move(content), std::move(name), place));
    arrays.push_back(std::move(array));
  }
}

Result<std::vector<StoredArray>> readSafetensors(const std::string &path, const Wanted &wanted) {
  DLC_TRY_ASSIGN(file, SafetensorsFile::open(path));
  std::vector<StoredArray> arrays;
  for (const StoredTensor &tensor : file.tensors()) {
    if (!wanted(tensor.name))
      continue;
    StoredArray array{tensor.name, tensor.dtype, tensor.shape, {}};
    DLC_TRY(reserveRoom(array.bytes, tensor.bytes).in(path));
    array.bytes.resize(tensor.bytes);
    DLC_TRY(file.read(tensor, array.bytes));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

} // namespace

Result<std::vector<StoredArray>> readArrays(const std::string &path, const Wanted &wanted) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  char first[npyMagic.size()] = {};
  const std::span<char> head(first, std::min<uint64_t>(file.size(), sizeof(first)));
  DLC_TRY(file.readAt(0, std::as_writable_bytes(head)));
  const std::string_view begin(head.data(), head.size());
  if (begin.starts_with(zipMagic))
    return readNpz(path, file.size(), wanted);
  const std::string_view kind = fileKind(file);
  if (begin != npyMagic && kind == safetensorsKind)
    return readSafetensors(path, wanted);
  if (begin != npyMagic && !kind.empty())
    return damaged(path, ": is ", kind,
                   ", expected arrays: numpy.savez and safetensors.torch.save_file write them");
  if (begin != npyMagic && (path.ends_with(".npz") || path.ends_with(".npy")))
    return damaged(path, ": it does not begin as a ", path.substr(path.size() - 4), " file does");
  if (begin != npyMagic)
    return readSafetensors(path, wanted);
  std::vector<StoredArray> arrays;
  if (!wanted(""))
    return arrays;
  DLC_TRY_ASSIGN(content, readWholeFile(path, mostBytes));
  DLC_TRY_ASSIGN(array, parseNpy(std::move(content), "", path));
  arrays.push_back(std::move(array));
  return arrays;
}

} // namespace dlc::runtime
