// mmap(2).
#include "runtime/Core/FileMapping.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"

#include <sys/mman.h>
#include <unistd.h>

namespace dlc::runtime {

Result<FileMapping> FileMapping::open(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  const uint64_t size = file.size();
  if (size == 0)
    return FileMapping(path, {});
  const int descriptor = file.release();
  void *at = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  close(descriptor);
  errno = error;
  if (at == MAP_FAILED)
    return ioFailure(path, "cannot map");
  return FileMapping(path, {static_cast<const std::byte *>(at), size});
}

FileMapping::~FileMapping() {
  if (!content.empty())
    munmap(const_cast<std::byte *>(content.data()), content.size());
}

} // namespace dlc::runtime
