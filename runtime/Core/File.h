// Files: reading with sizes checked, and writing so that a reader sees the old or the new content,
// never half of one.
//
// Ownership: a File closes its descriptor. Threads: readAt may be called by several threads at
// once.
#ifndef DLC_RUNTIME_CORE_FILE_H
#define DLC_RUNTIME_CORE_FILE_H

#include "dlc/status.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dlc::runtime {

class File {
public:
  static Result<File> openForReading(const std::string &path);
  File(File &&other) noexcept;
  File &operator=(File &&) = delete;
  ~File();

  uint64_t size() const { return bytes; }
  const std::string &path() const { return name; }
  /// Fills `destination` from `offset`; reaching the end of the file is an error.
  Status readAt(uint64_t offset, std::span<std::byte> destination) const;

private:
  File(int descriptor, std::string path, uint64_t size)
      : descriptor(descriptor), name(std::move(path)), bytes(size) {}
  int descriptor;
  std::string name;
  uint64_t bytes;
};

Result<std::vector<std::byte>> readWholeFile(const std::string &path);

/// Writes a file that appears under its name only when it is complete: temporary file in the same
/// folder, fsync, rename, fsync of the folder. Destroyed before commit(), it leaves nothing.
class AtomicFileWriter {
public:
  static Result<AtomicFileWriter> create(const std::string &path);
  AtomicFileWriter(AtomicFileWriter &&other) noexcept;
  AtomicFileWriter &operator=(AtomicFileWriter &&) = delete;
  ~AtomicFileWriter();

  Status append(std::span<const std::byte> data);
  Status commit();

private:
  AtomicFileWriter(int descriptor, std::string path, std::string temporary)
      : descriptor(descriptor), path(std::move(path)), temporary(std::move(temporary)) {}
  Status writeOut();

  int descriptor;
  std::string path, temporary;
  std::vector<std::byte> pending;
};

} // namespace dlc::runtime

#endif
