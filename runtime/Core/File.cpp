// Reading POSIX files.
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc::runtime {

/// What a path leads to that is no regular file.
static std::string_view kindName(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a fifo"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

static Status notRegular(std::string_view path, mode_t mode) {
  return failure(StatusCode::Io, path, ": expected a regular file, found ", kindName(mode));
}

Result<File> File::openForReading(const std::string &path) {
  struct stat status;
  // Not blocking, because opening a fifo would wait for who writes to it.
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), path, 0);
  if (file.descriptor < 0 && errno == ENXIO && stat(path.c_str(), &status) == 0)
    return notRegular(path, status.st_mode); // a socket cannot be opened
  if (file.descriptor < 0)
    return ioFailure(path, "cannot open");
  if (fstat(file.descriptor, &status) != 0)
    return ioFailure(path, "cannot read");
  if (!S_ISREG(status.st_mode))
    return notRegular(path, status.st_mode);
  file.bytes = static_cast<uint64_t>(status.st_size);
  return file;
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

Status File::readPieces(uint64_t pieceBytes, const Take &take) const {
  std::vector<std::byte> room;
  size_t kept = 0;
  for (uint64_t read = 0; read < bytes;) {
    const uint64_t more = std::min(pieceBytes, bytes - read);
    room.resize(std::max<uint64_t>(room.size(), kept + more));
    DLC_TRY(readAt(read, std::span(room).subspan(kept, more)));
    const std::span<const std::byte> piece = std::span(room).first(kept + more);
    DLC_TRY_ASSIGN(taken, take(piece, read - kept));
    read += more;
    kept = piece.size() - taken;
    std::memmove(room.data(), room.data() + taken, kept);
  }
  return {};
}

bool isThere(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<std::vector<std::byte>> readWholeFile(const std::string &path, uint64_t limit) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  if (file.size() > limit)
    return damaged(path, ": has ", file.size(), " bytes, expected at most ", limit);
  std::vector<std::byte> content;
  DLC_TRY(reserveRoom(content, file.size()).in(path));
  content.resize(file.size());
  DLC_TRY(file.readAt(0, content));
  return content;
}

} // namespace dlc::runtime
