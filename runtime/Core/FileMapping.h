// A file's content where the system keeps it: for what is larger than memory, or shared by the
// processes of a machine.
//
// Ownership: owns the mapping. Threads: reading by several threads at once. Failure: a file that is
// made shorter while it is mapped ends the process when what is gone is read (SIGBUS), so what is
// read once is read by File.
#ifndef DLC_RUNTIME_CORE_FILEMAPPING_H
#define DLC_RUNTIME_CORE_FILEMAPPING_H

#include "dlc/status.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace dlc::runtime {

class FileMapping {
public:
  /// Fails as File::openForReading() does.
  static Result<FileMapping> open(const std::string &path);
  /// The first `size` bytes of an open file, which may be closed afterwards; `path` is for
  /// messages. Nothing where the system refuses, which errno explains.
  static std::optional<FileMapping> map(int descriptor, uint64_t size, std::string path);
  FileMapping(FileMapping &&other) noexcept
      : name(std::move(other.name)), content(std::exchange(other.content, {})) {}
  FileMapping &operator=(FileMapping &&) = delete;
  ~FileMapping();

  const std::string &path() const { return name; }
  std::span<const std::byte> bytes() const { return content; }

private:
  FileMapping(std::string path, std::span<const std::byte> content)
      : name(std::move(path)), content(content) {}
  std::string name;
  std::span<const std::byte> content;
};

} // namespace dlc::runtime

#endif
