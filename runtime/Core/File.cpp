// Reading POSIX files.
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc::runtime {

static Status ioFailure(std::string_view path, std::string_view what) {
  return failure(StatusCode::Io, path, ": ", what, ": ", std::strerror(errno));
}

Result<File> File::openForReading(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return ioFailure(path, "cannot open");
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    Status failed = ioFailure(path, "cannot read");
    close(descriptor);
    return failed;
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor);
    return failure(StatusCode::Io, path, ": not a regular file");
  }
  return File(descriptor, path, static_cast<uint64_t>(status.st_size));
}

File::File(File &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), name(std::move(other.name)),
      bytes(other.bytes) {}

File::~File() {
  if (descriptor >= 0)
    close(descriptor);
}

Status File::readAt(uint64_t offset, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    ssize_t got =
        pread(descriptor, destination.data(), destination.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ioFailure(name, "cannot read");
    if (got == 0)
      return damaged(name, ": the file ends at byte ", offset, ", expected ", destination.size(),
                     " more");
    destination = destination.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Result<std::vector<std::byte>> readWholeFile(const std::string &path) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  std::vector<std::byte> content(file.size());
  DLC_TRY(file.readAt(0, content));
  return content;
}

} // namespace dlc::runtime
