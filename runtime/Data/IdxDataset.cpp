// Reading IDX files through zlib, which passes plain files through unchanged.
#include "runtime/Data/IdxDataset.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace dlc::runtime {
namespace {

/// A file opened through zlib, closed at the end of its scope.
class GzipReader {
public:
  static Result<GzipReader> open(const std::string &path) {
    DLC_TRY_ASSIGN(plain, File::openForReading(path));
    const uint64_t bytes = plain.size();
    const int descriptor = plain.release();
    gzFile file = gzdopen(descriptor, "rb");
    if (file)
      return GzipReader(path, bytes, file);
    close(descriptor);
    return Status::outOfMemory().in(path);
  }
  GzipReader(GzipReader &&other) noexcept
      : path(other.path), fileBytes(other.fileBytes), file(std::exchange(other.file, nullptr)) {}
  GzipReader &operator=(GzipReader &&) = delete;
  ~GzipReader() {
    if (file)
      gzclose(file);
  }

  /// What the file can hold at most. DEFLATE makes of a byte no more than 1,032.
  uint64_t mostContent() const {
    constexpr uint64_t bestRatio = 1032;
    return gzdirect(file) ? fileBytes : fileBytes * bestRatio;
  }

  /// Reads up to `size` bytes; fewer only at the end of the file.
  Result<size_t> read(std::byte *out, size_t size) {
    size_t total = 0;
    while (total < size) {
      const auto piece = static_cast<unsigned>(std::min<size_t>(size - total, 1u << 30));
      const int got = gzread(file, out + total, piece);
      if (got < 0)
        return failed();
      if (got == 0)
        break;
      total += static_cast<size_t>(got);
    }
    // zlib reports a stream that ends too early only here.
    int code = Z_OK;
    gzerror(file, &code);
    if (code == Z_BUF_ERROR)
      return damaged(path, ": the compressed data ends too early");
    return total;
  }

private:
  GzipReader(const std::string &path, uint64_t fileBytes, gzFile file)
      : path(path), fileBytes(fileBytes), file(file) {}

  Status failed() const {
    int code = Z_OK;
    const char *text = gzerror(file, &code);
    if (code == Z_MEM_ERROR)
      return Status::outOfMemory().in(path);
    if (code == Z_ERRNO)
      return failure(StatusCode::Io, path, ": cannot read: ", std::strerror(errno));
    return damaged(path, ": damaged compressed data: ", text);
  }

  const std::string &path;
  uint64_t fileBytes;
  gzFile file;
};

uint32_t bigEndian(const std::byte *bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value = value << 8 | static_cast<uint32_t>(bytes[i]);
  return value;
}

/// By the third byte of the magic number.
const StoredType *findType(unsigned number) {
  constexpr std::string_view names[] = {"u1", "i1", "", "i2", "i4", "f4", "f8"};
  constexpr unsigned first = 8;
  return number < first || number - first >= std::size(names)
             ? nullptr
             : findStoredType(names[number - first]);
}

Status readHeader(GzipReader &reader, const std::string &path, IdxFile &out) {
  std::byte magic[4];
  DLC_TRY_ASSIGN(got, reader.read(magic, sizeof(magic)));
  if (got != sizeof(magic) || magic[0] != std::byte(0) || magic[1] != std::byte(0)) {
    const std::string_view kind = fileKind(std::span(magic, got));
    return damaged(path, ": no IDX file: ",
                   kind.empty() ? "it does not begin with two zero bytes" : concat("it is ", kind));
  }
  const auto type = static_cast<unsigned>(magic[2]), rank = static_cast<unsigned>(magic[3]);
  out.type = findType(type);
  if (!out.type)
    return damaged(path, ": IDX element type ", type,
                   ", expected 8 (unsigned bytes), 9 (signed), 11 or 12 (whole numbers of 16 or 32 "
                   "bits), 13 or 14 (floats of 32 or 64)");
  if (rank == 0 || rank > DLC_MAX_RANK)
    return damaged(path, ": IDX rank ", rank, ", expected 1 to ", DLC_MAX_RANK);
  for (unsigned axis = 0; axis < rank; ++axis) {
    std::byte extent[4];
    DLC_TRY_ASSIGN(bytes, reader.read(extent, sizeof(extent)));
    if (bytes != sizeof(extent))
      return damaged(path, ": the IDX header ends after ", axis, " of ", rank, " extents");
    out.shape.push_back(bigEndian(extent));
  }
  return {};
}

/// Images and labels in memory.
class IdxDataset : public Dataset {
public:
  IdxDataset(std::string folder, std::string imagePath, std::string labelPath, IdxFile images,
             IdxFile labels)
      : folder(std::move(folder)), images(std::move(images)), labels(std::move(labels)) {
    const std::vector<uint64_t> &shape = this->images.shape;
    fieldList = {{FieldKind::Image,
                  this->images.type->dtype,
                  {shape.begin() + 1, shape.end()},
                  std::move(imagePath)},
                 {FieldKind::Label, this->labels.type->dtype, {}, std::move(labelPath)}};
    imageBytes = this->images.data.size() / size();
    labelBytes = this->labels.data.size() / size();
  }
  const std::string &name() const override { return folder; }
  uint64_t size() const override { return images.shape[0]; }
  const std::vector<DatasetField> &fields() const override { return fieldList; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return field == 0 ? images.data.data() + index * imageBytes
                      : labels.data.data() + index * labelBytes;
  }

private:
  std::string folder;
  IdxFile images, labels;
  uint64_t imageBytes, labelBytes;
  std::vector<DatasetField> fieldList;
};

constexpr std::string_view imageFile = "-images-idx3-ubyte", labelFile = "-labels-idx1-ubyte";
constexpr const char *endings[] = {"", ".gz"};

std::string_view prefixOf(Split split) { return split == Split::Train ? "train" : "t10k"; }

Result<std::string> findFile(const std::string &folder, Split split, std::string_view kind) {
  const std::string name = concat(prefixOf(split), kind), path = concat(folder, "/", name);
  for (const char *ending : endings)
    if (access((path + ending).c_str(), R_OK) == 0)
      return path + ending;
  const std::string both = concat(prefixOf(split), imageFile, " and ", prefixOf(split), labelFile,
                                  ", plain or with .gz");
  struct stat info;
  if (stat(folder.c_str(), &info) != 0)
    return failure(StatusCode::Io, folder, ": ", std::strerror(errno), "; expected a folder with ",
                   both);
  if (!S_ISDIR(info.st_mode))
    return failure(StatusCode::Io, folder, ": no folder; expected the one with ", both);
  return failure(StatusCode::Io, folder, ": no file ", name, " or ", name,
                 ".gz that can be read; expected ", both);
}

} // namespace

Result<IdxFile> readIdxFile(const std::string &path) {
  DLC_TRY_ASSIGN(reader, GzipReader::open(path));
  IdxFile file;
  DLC_TRY(readHeader(reader, path, file));
  const auto count = checkedElementCount(file.shape);
  const uint64_t each = file.type->bytes, expected = count.value_or(0) * each;
  if (!count || expected / each != *count)
    return damaged(path, ": the IDX header claims too many elements");
  // One more, to see that nothing follows; not more than a file of this size can hold, for a
  // damaged header must not ask for all memory. Pages are touched as far as the file fills them.
  constexpr size_t chunk = 1 << 22;
  DLC_TRY(reserveRoom(file.data, std::min(expected + 1, reader.mostContent() + chunk)).in(path));
  size_t size = 0;
  while (true) {
    const size_t wanted = std::min<uint64_t>(expected + 1 - size, chunk);
    file.data.resize(size + wanted);
    DLC_TRY_ASSIGN(got, reader.read(file.data.data() + size, wanted));
    size += got;
    if (got < wanted || size > expected)
      break;
  }
  if (size != expected)
    return damaged(path, ": the IDX header claims ", *count, " elements, the file holds ",
                   size > expected ? "more" : std::to_string(size / each));
  file.data.resize(size);
  swapBytes(file.data, each);
  if (file.type->widen)
    file.data = file.type->widen(file.data);
  return file;
}

std::vector<std::string> idxFiles(const std::string &folder, Split split) {
  std::vector<std::string> files;
  for (std::string_view name : {imageFile, labelFile})
    for (const char *ending : endings)
      files.push_back(concat(folder, "/", prefixOf(split), name, ending));
  return files;
}

bool hasIdxSplit(const std::string &folder, Split split) {
  return std::ranges::any_of(idxFiles(folder, split), isThere);
}

Result<std::shared_ptr<const Dataset>> openIdxDataset(const std::string &folder, Split split) {
  DLC_TRY_ASSIGN(imagePath, findFile(folder, split, imageFile));
  DLC_TRY_ASSIGN(labelPath, findFile(folder, split, labelFile));
  DLC_TRY_ASSIGN(images, readIdxFile(imagePath));
  DLC_TRY_ASSIGN(labels, readIdxFile(labelPath));
  if (images.shape.size() < 2)
    return damaged(imagePath, ": images need at least two axes, found ", images.shape.size());
  if (checkedElementCount(labels.shape) != labels.shape[0])
    return damaged(labelPath, ": expected one label a sample, found ",
                   TensorType{labels.type->dtype, labels.shape, {}}.str());
  if (images.shape[0] != labels.shape[0])
    return damaged(labelPath, ": ", labels.shape[0], " labels for ", images.shape[0], " images");
  if (images.shape[0] == 0)
    return damaged(imagePath, ": there are no samples in it");
  return std::shared_ptr<const Dataset>(std::make_shared<IdxDataset>(
      folder, std::move(imagePath), std::move(labelPath), std::move(images), std::move(labels)));
}

} // namespace dlc::runtime
