// Opening, reading and writing safetensors files.
#include "runtime/Data/Safetensors.h"
#include "dlc/plan.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace dlc::runtime {

static_assert(std::endian::native == std::endian::little, "files and memory share one byte order");

std::string StoredTensor::typeText() const { return TensorType{dtype, shape, {}}.str(); }
std::string StoredTensor::quoted() const { return concat("tensor '", excerpt(name), "'"); }

/// What is no safetensors file is called by its name, if it has one, else damaged.
static Status noSafetensors(const File &file, Status damage) {
  const std::string_view kind = fileKind(file);
  if (kind.empty() || kind == safetensorsKind)
    return damage;
  return damaged(file.path(), ": is ", kind,
                 ", expected a safetensors file: dlc-run train and safetensors.torch.save_file "
                 "write them");
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  // The format's own limit.
  constexpr uint64_t maxHeader = 100'000'000;
  DLC_TRY_ASSIGN(opened, File::openForReading(path));
  SafetensorsFile file(std::move(opened));
  uint64_t headerBytes = 0;
  const uint64_t size = file.file.size();
  if (size < sizeof(headerBytes))
    return noSafetensors(file.file, damaged(path, ": no safetensors file: ", size, " bytes"));
  DLC_TRY(file.file.readAt(0, std::as_writable_bytes(std::span(&headerBytes, 1))));
  if (headerBytes > maxHeader || headerBytes > size - sizeof(headerBytes))
    return noSafetensors(file.file, damaged(path, ": damaged safetensors file: a header of ",
                                            headerBytes, " bytes in a file of ", size));
  std::string header;
  DLC_TRY(reserveRoom(header, headerBytes).in(path));
  header.resize(headerBytes);
  DLC_TRY(file.file.readAt(sizeof(headerBytes), std::as_writable_bytes(std::span(header))));
  const uint64_t dataStart = sizeof(headerBytes) + headerBytes;
  DLC_TRY_IN(parseSafetensorsHeader(header, dataStart, size - dataStart, file.entries, file.text),
             path, ": damaged safetensors file");
  DLC_TRY(takeChecksums(file.text, file.entries).in(path));
  return file;
}

const StoredTensor *SafetensorsFile::find(std::string_view name) const {
  auto it = std::find_if(entries.begin(), entries.end(),
                         [&](const StoredTensor &tensor) { return tensor.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

Status
SafetensorsFile::renameTensors(const std::function<std::string(const std::string &)> &newName) {
  std::map<std::string, std::string> before;
  for (StoredTensor &tensor : entries) {
    std::string name = newName(tensor.name);
    const auto [other, isNew] = before.emplace(name, tensor.name);
    if (!isNew)
      return invalid(path(), ": '", excerpt(other->second), "' and '", excerpt(tensor.name),
                     "' are both renamed to '", excerpt(name), "'");
    tensor.name = std::move(name);
  }
  return {};
}

Status SafetensorsFile::read(const StoredTensor &tensor, std::span<std::byte> destination) const {
  if (destination.size() != tensor.bytes)
    return invalid(path(), ": ", tensor.quoted(), " has ", tensor.bytes, " bytes, expected ",
                   destination.size());
  DLC_TRY(file.readAt(tensor.offset, destination));
  if (!tensor.checksum.empty() && tensor.checksum != checksumOf(destination))
    return damaged(path(), ": tensor '", tensor.name, "' is damaged: its checksum is ",
                   checksumOf(destination), ", expected ", tensor.checksum);
  return {};
}

static std::string_view formatName(dlc_dtype dtype) {
  static constexpr std::string_view names[] = {"?",   "F32", "F64", "BF16", "F16",
                                               "I32", "I64", "U8",  "BOOL"};
  return names[dtype];
}

/// As a JSON string.
static std::string quotedJson(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Written by hand: to destroy a tree of the library takes memory.
static std::string metadataText(const Metadata &metadata) {
  std::string text;
  for (const auto &[key, value] : metadata)
    text += concat(text.empty() ? "" : ",", quotedJson(key), ":", quotedJson(value));
  return concat("\"__metadata__\":{", text, "}");
}

static std::string tensorText(const StoredTensor &tensor, uint64_t offset, uint64_t bytes) {
  std::string shape;
  for (uint64_t extent : tensor.shape)
    shape += concat(shape.empty() ? "" : ",", extent);
  return concat(quotedJson(tensor.name), ":{\"dtype\":\"", formatName(tensor.dtype),
                "\",\"shape\":[", shape, "],\"data_offsets\":[", offset, ",", offset + bytes, "]}");
}

/// The header without its padding. Fails for two tensors of one name.
static Result<std::string> headerText(const std::vector<StoredTensor> &tensors,
                                      const Metadata &metadata) {
  std::string text = metadata.empty() ? "" : metadataText(metadata);
  std::set<std::string_view> names;
  uint64_t offset = 0;
  for (const StoredTensor &tensor : tensors) {
    if (!names.insert(tensor.name).second)
      return invalid("two tensors are called '", tensor.name, "'");
    const uint64_t bytes = TensorType{tensor.dtype, tensor.shape, {}}.logicalBytes();
    text += (text.empty() ? "" : ",") + tensorText(tensor, offset, bytes);
    offset += bytes;
  }
  return concat("{", text, "}");
}

/// Reads a header back as a reader of the file will, before there is a file: what was trained is
/// not to be lost to a header that says something else.
static Status checkHeader(std::string_view text, const std::vector<StoredTensor> &tensors,
                          const Metadata &metadata) {
  uint64_t bytes = 0;
  for (const StoredTensor &tensor : tensors)
    bytes += TensorType{tensor.dtype, tensor.shape, {}}.logicalBytes();
  std::vector<StoredTensor> found;
  Metadata foundMetadata;
  DLC_TRY(
      parseSafetensorsHeader(text, 0, bytes, found, foundMetadata).in("the header to be written"));
  auto isSame = [](const StoredTensor &a, const StoredTensor &b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
  };
  if (foundMetadata != metadata || !std::ranges::equal(found, tensors, isSame))
    return damaged("the header to be written reads as another one");
  return {};
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string &path,
                                                    const std::vector<StoredTensor> &tensors,
                                                    Metadata metadata) {
  addChecksums(metadata, tensors);
  Result<std::string> header = headerText(tensors, metadata);
  if (!header.ok())
    return header.takeStatus().in(path);
  std::string text = header.take();
  DLC_TRY(checkHeader(text, tensors, metadata).in(path));
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t headerBytes = text.size();

  DLC_TRY_ASSIGN(file, FileWriter::create(path));
  SafetensorsWriter writer(std::move(file));
  DLC_TRY(writer.append(std::as_bytes(std::span(&headerBytes, 1))));
  DLC_TRY(writer.append(std::as_bytes(std::span(text))));
  return writer;
}

} // namespace dlc::runtime
