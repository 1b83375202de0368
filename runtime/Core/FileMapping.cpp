// mmap(2).
#include "runtime/Core/FileMapping.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"

#include <sys/mman.h>
#include <unistd.h>

namespace dlc::runtime {

/// Private, as a sealed file cannot be mapped otherwise; the memory is the system's all the same.
std::optional<FileMapping> FileMapping::map(int descriptor, uint64_t size, std::string path) {
  if (size == 0)
    return FileMapping(std::move(path), {});
  void *at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (at == MAP_FAILED)
    return {};
  return FileMapping(std::move(path), {static_cast<const std::byte *>(at), size});
}

Result<FileMapping> FileMapping::open(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  const int descriptor = file.release();
  std::optional<FileMapping> mapping = map(descriptor, file.size(), path);
  const int error = errno;
  close(descriptor);
  errno = error;
  if (!mapping)
    return ioFailure(path, "cannot map");
  return std::move(*mapping);
}

FileMapping::~FileMapping() {
  if (!content.empty())
    munmap(const_cast<std::byte *>(content.data()), content.size());
}

} // namespace dlc::runtime
