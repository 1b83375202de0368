// Files: reading with kinds and sizes checked. FileWriter.h writes.
//
// Whatever is read is opened once, and is a regular file: a fifo would hang, a device never end.
//
// Ownership: a File closes its descriptor. Threads: readAt may be called by several threads at
// once.
#ifndef DLC_RUNTIME_CORE_FILE_H
#define DLC_RUNTIME_CORE_FILE_H

#include "dlc/status.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dlc::runtime {

class File {
public:
  /// Fails with Io, the path first, for what cannot be opened or is no regular file.
  static Result<File> openForReading(const std::string &path);
  File(File &&other) noexcept;
  File &operator=(File &&) = delete;
  ~File();

  uint64_t size() const { return bytes; }
  const std::string &path() const { return name; }
  /// Fills `destination` from `offset`; reaching the end of the file is an error.
  Status readAt(uint64_t offset, std::span<std::byte> destination) const;
  /// Calls take(piece, offset) with the whole file, `pieceBytes` read at a time. It returns how
  /// much of a piece it has taken: the rest comes again, with more behind it.
  using Take = std::function<Result<size_t>(std::span<const std::byte> piece, uint64_t offset)>;
  Status readPieces(uint64_t pieceBytes, const Take &take) const;
  /// Hands the descriptor over, to be closed by who takes it.
  int release() { return std::exchange(descriptor, -1); }

private:
  File(int descriptor, std::string path, uint64_t size)
      : descriptor(descriptor), name(std::move(path)), bytes(size) {}
  int descriptor;
  std::string name;
  uint64_t bytes;
};

/// Whether there is something of this name, or a folder; links are followed.
bool isThere(const std::string &path);
bool isFolder(const std::string &path);

/// Fails for a file of more than `limit` bytes, which what is looked for cannot have.
Result<std::vector<std::byte>> readWholeFile(const std::string &path, uint64_t limit);

} // namespace dlc::runtime

#endif
