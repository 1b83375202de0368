// safetensors files: a JSON header that names tensors, then their bytes. Strict in what it accepts:
// sizes, offsets, overlaps, holes, dtypes and names are checked before anything is read.
//
// The format knows no checksums. Ours stand in the metadata: `xxh3.NAME` for a tensor, `xxh3` for
// the other entries. A file without them is read as well.
//
// Ownership: the file is open while the object lives. Threads: reading by several threads at once
// is fine.
#ifndef DLC_RUNTIME_DATA_SAFETENSORS_H
#define DLC_RUNTIME_DATA_SAFETENSORS_H

#include "dlc/abi.h"
#include "dlc/checkpoint.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"

#include <functional>

namespace dlc::runtime {

/// One tensor of a file. Row-major.
struct StoredTensor {
  std::string name;
  dlc_dtype dtype = DLC_F32;
  std::vector<uint64_t> shape;
  /// In the file.
  uint64_t offset = 0, bytes = 0;
  /// checksumOf its bytes; empty: the file has none.
  std::string checksum = {};

  /// "f32[64, 10]"
  std::string typeText() const;
  /// "tensor 'conv1.weight'": for messages, of bounded length.
  std::string quoted() const;
};

/// XXH3-128 as hexadecimal digits.
std::string checksumOf(std::span<const std::byte> bytes);

class SafetensorsFile {
public:
  static Result<SafetensorsFile> open(const std::string &path);

  const std::string &path() const { return file.path(); }
  /// In order of their place in the file.
  const std::vector<StoredTensor> &tensors() const { return entries; }
  const Metadata &metadata() const { return text; }
  /// Null if there is none of that name.
  const StoredTensor *find(std::string_view name) const;
  /// Calls tensors otherwise from now on, by their names in the file. Fails if two get one name.
  Status renameTensors(const std::function<std::string(const std::string &)> &newName);
  /// Copies a tensor's bytes, which must have its checksum; `destination` has exactly its size.
  Status read(const StoredTensor &tensor, std::span<std::byte> destination) const;

private:
  explicit SafetensorsFile(File file) : file(std::move(file)) {}
  File file;
  std::vector<StoredTensor> entries;
  Metadata text;
};

/// Parses a header; `dataBytes` follow it, from byte `dataStart` of the file on. Part of
/// SafetensorsFile::open.
Status parseSafetensorsHeader(std::string_view json, uint64_t dataStart, uint64_t dataBytes,
                              std::vector<StoredTensor> &tensors, Metadata &metadata);

/// Takes the checksums out of the metadata, which must have its own, and gives them to the tensors.
/// Part of SafetensorsFile::open.
Status takeChecksums(Metadata &metadata, std::vector<StoredTensor> &tensors);
/// What takeChecksums takes back.
void addChecksums(Metadata &metadata, const std::vector<StoredTensor> &tensors);

/// Writes a file that appears complete or not at all. Tensors are appended in the order announced;
/// those that have a checksum are announced with it.
class SafetensorsWriter {
public:
  static Result<SafetensorsWriter>
  create(const std::string &path, const std::vector<StoredTensor> &tensors, Metadata metadata);
  Status append(std::span<const std::byte> tensor) { return writer.append(tensor); }
  Status commit() { return writer.commit(); }

private:
  explicit SafetensorsWriter(FileWriter writer) : writer(std::move(writer)) {}
  FileWriter writer;
};

} // namespace dlc::runtime

#endif
