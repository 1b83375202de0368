// A copy of a module's file that nobody can change, and the library opened from it: what was
// checked is what runs, though the file is overwritten, truncated or removed meanwhile.
//
// The copy is a sealed memfd, which debuggers and profilers find as /proc/PID/fd/N with the file's
// name in their maps. Where a process may have none, or cannot name it because /proc is not there,
// it is a temporary file that loses its name as soon as the library is open. Only a process that
// may not write files of that size (ulimit -f) uses the module's file itself. Either way a loaded
// module costs its size in memory or on disk, once a process; the pages of its kernels, plan and
// constants are those of the copy.
//
// Ownership: closes the library, then gives the copy back. Threads: content() by any number at
// once.
#ifndef DLC_RUNTIME_CORE_MODULEIMAGE_H
#define DLC_RUNTIME_CORE_MODULEIMAGE_H

#include "runtime/Core/File.h"
#include "runtime/Core/FileMapping.h"
#include "runtime/Core/FileWriter.h"

#include <optional>
#include <span>

namespace dlc::runtime {

class ModuleImage {
public:
  /// The largest file that is taken for a module: what a library's 32-bit displacements can span.
  static constexpr uint64_t largest = uint64_t(1) << 31;

  /// Copies a file whose first bytes are an ELF header's. Failures: Damaged (no module), Io,
  /// OutOfMemory; their messages begin with the file's path.
  static Result<ModuleImage> copy(File file);
  ModuleImage(ModuleImage &&other) noexcept;
  ModuleImage &operator=(ModuleImage &&) = delete;
  ~ModuleImage();

  /// The whole file, at the start of a page.
  std::span<const std::byte> content() const { return mapping->bytes(); }

  /// Opens the copy as a library: runs code of it.
  Status open();
  /// Address of a symbol of the open library, or null.
  void *find(const char *symbol) const;

private:
  ModuleImage(int descriptor, std::string name) : descriptor(descriptor), name(std::move(name)) {}
  static Result<ModuleImage> copyToMemory(const File &file);
  static Result<ModuleImage> copyToFolder(const File &file);
  static Result<ModuleImage> useItself(File file);
  Status map(uint64_t size);

  int descriptor;
  /// What dlopen is told. glibc takes a library of a known name for the known one, so no two live
  /// copies may share it: the descriptor, which is part of it, stays open as long as the library.
  std::string name;
  /// Where a copy that is not in memory has a name, until it is open.
  std::optional<ScratchFolder> folder;
  std::optional<FileMapping> mapping;
  void *library = nullptr;
};

} // namespace dlc::runtime

#endif
