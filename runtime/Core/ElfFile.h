// Reads the few things of an ELF file that a loader must know before dlopen: its notes and one
// section. Every offset is checked against the file's size; nothing is mapped or run.
//
// Ownership: views the bytes it is given, which must outlive it.
#ifndef DLC_RUNTIME_CORE_ELFFILE_H
#define DLC_RUNTIME_CORE_ELFFILE_H

#include "dlc/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace dlc::runtime {

/// A piece of the file.
struct FileRange {
  uint64_t offset = 0, size = 0;
};

class ElfFile {
public:
  static constexpr size_t headerBytes = 64;
  /// Whether a file of `size` bytes that begins with `start` (headerBytes, or all of a shorter
  /// file) may be one that parse() accepts.
  static Status checkHeader(std::span<const std::byte> start, uint64_t size);

  /// Accepts 64-bit little-endian shared libraries for this machine's architecture.
  static Result<ElfFile> parse(std::span<const std::byte> content);

  /// Descriptor of the first note of this owner and type in the program headers' notes; nothing if
  /// there is none.
  Result<std::optional<FileRange>> findNote(std::string_view owner, uint32_t type) const;
  Result<std::optional<FileRange>> findSection(std::string_view name) const;

private:
  explicit ElfFile(std::span<const std::byte> content) : content(content) {}
  template <typename T> bool readStruct(uint64_t offset, T &out) const;

  std::span<const std::byte> content;
};

} // namespace dlc::runtime

#endif
