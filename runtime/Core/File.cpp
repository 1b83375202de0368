// Reading and atomic writing on POSIX files.
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

Result<AtomicFileWriter> AtomicFileWriter::create(const std::string &path) {
  std::string temporary = path + ".tmpXXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return ioFailure(path, "cannot create a temporary file beside it");
  // mkostemp makes the file private; give it what open() would.
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  return AtomicFileWriter(descriptor, path, std::move(temporary));
}

AtomicFileWriter::AtomicFileWriter(AtomicFileWriter &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), path(std::move(other.path)),
      temporary(std::move(other.temporary)), pending(std::move(other.pending)) {}

AtomicFileWriter::~AtomicFileWriter() {
  if (descriptor < 0)
    return;
  close(descriptor);
  unlink(temporary.c_str());
}

Status AtomicFileWriter::writeOut() {
  std::span<const std::byte> rest = pending;
  while (!rest.empty()) {
    ssize_t written = write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return ioFailure(path, "cannot write");
    rest = rest.subspan(static_cast<size_t>(written));
  }
  pending.clear();
  return {};
}

Status AtomicFileWriter::append(std::span<const std::byte> data) {
  constexpr size_t flushAt = 1 << 20;
  pending.insert(pending.end(), data.begin(), data.end());
  return pending.size() >= flushAt ? writeOut() : Status();
}

/// A rename is durable only when the folder that holds the name is.
static Status syncFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return ioFailure(folder, "cannot open the folder");
  Status result =
      fsync(descriptor) == 0 ? Status() : ioFailure(folder, "cannot synchronise the folder");
  close(descriptor);
  return result;
}

Status AtomicFileWriter::commit() {
  DLC_TRY(writeOut());
  if (fsync(descriptor) != 0)
    return ioFailure(path, "cannot synchronise");
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return ioFailure(path, "cannot rename the temporary file");
  close(std::exchange(descriptor, -1));
  return syncFolderOf(path);
}

} // namespace dlc::runtime
