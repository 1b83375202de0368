// Writing on POSIX files.
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/File.h"
#include "runtime/Core/Support.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dlc::runtime {

//--------------------------------------------------------------------------------------------------
// Where a name leads
//--------------------------------------------------------------------------------------------------

namespace {
struct Place {
  /// Absolute, without symbolic links.
  std::string folder, name;
  /// What is there now.
  std::optional<struct stat> found = {};
  /// The descriptor of this process that /dev/stdout and its like stand for.
  int ownDescriptor = -1;

  std::string path() const { return folder + (folder == "/" ? "" : "/") + name; }
  bool isStream() const { return ownDescriptor >= 0 || (found && !S_ISREG(found->st_mode)); }
};
} // namespace

static std::optional<std::string> realFolder(const std::string &path) {
  std::unique_ptr<char, decltype(&std::free)> found(realpath(path.c_str(), nullptr), &std::free);
  return found ? std::optional<std::string>(found.get()) : std::nullopt;
}

static std::optional<std::string> readLink(const std::string &path) {
  char text[4096];
  const ssize_t length = readlink(path.c_str(), text, sizeof(text));
  if (length < 0 || static_cast<size_t>(length) == sizeof(text))
    return std::nullopt;
  return std::string(text, static_cast<size_t>(length));
}

/// Opening the file behind /proc/self/fd/1 again would overwrite what its owner wrote to it before.
static int ownDescriptor(const Place &place) {
  int number = -1;
  if (place.folder == concat("/proc/", getpid(), "/fd"))
    std::from_chars(place.name.data(), place.name.data() + place.name.size(), number);
  return number;
}

/// One step: the folder of `path` and what lies there under its name.
static Result<Place> look(const std::string &path, const std::string &asked) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::optional<std::string> real = realFolder(folder);
  if (!real)
    return ioFailure(asked, concat("cannot write: folder ", folder));
  if (name.empty() || name == "." || name == "..")
    return failure(StatusCode::Io, asked, ": cannot write: it names a folder");
  Place place{*real, name};
  struct stat status;
  if (lstat(place.path().c_str(), &status) == 0)
    place.found = status;
  else if (errno != ENOENT)
    return ioFailure(asked, "cannot write");
  return place;
}

/// Follows symbolic links, also to what does not exist yet.
static Result<Place> resolve(const std::string &path) {
  if (path.empty())
    return invalid("the name of the file to write is empty");
  constexpr int maxLinks = 40; // as Linux
  std::string at = path;
  for (int links = 0; links < maxLinks; ++links) {
    DLC_TRY_ASSIGN(place, look(at, path));
    if (place.found && S_ISDIR(place.found->st_mode))
      return failure(StatusCode::Io, path, ": cannot write: it is a folder");
    if (!place.found || !S_ISLNK(place.found->st_mode))
      return place;
    if ((place.ownDescriptor = ownDescriptor(place)) >= 0)
      return place;
    const std::optional<std::string> link = readLink(place.path());
    if (!link || link->empty())
      return ioFailure(path, "cannot follow the symbolic link");
    at = link->front() == '/' ? *link : place.folder + "/" + *link;
  }
  return failure(StatusCode::Io, path, ": cannot write: too many symbolic links");
}

//--------------------------------------------------------------------------------------------------
// Temporary files: NAME.dlc-PID-NUMBER.tmp, locked by the process that writes it
//--------------------------------------------------------------------------------------------------

static constexpr std::string_view temporaryMark = ".dlc-", temporaryEnd = ".tmp";

/// Room for the rest of a temporary name in the 255 bytes that a name may have.
static std::string_view shortened(std::string_view name) { return name.substr(0, 200); }

static bool takeDigits(std::string_view &text) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count > 0;
}

/// "PID-NUMBER"
static bool takeOwner(std::string_view &text) {
  if (!takeDigits(text) || !text.starts_with('-'))
    return false;
  text.remove_prefix(1);
  return takeDigits(text);
}

/// Whether `entry` is a temporary name, of `name` if that is not empty.
static bool isTemporary(std::string_view entry, std::string_view name) {
  const size_t mark = entry.rfind(temporaryMark);
  if (mark == std::string_view::npos || (!name.empty() && entry.substr(0, mark) != shortened(name)))
    return false;
  std::string_view rest = entry.substr(mark + temporaryMark.size());
  return takeOwner(rest) && rest == temporaryEnd;
}

/// Whether the lock says that no process is writing; the caller then holds it. Without support for
/// locks nobody knows.
static bool isAbandoned(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

static bool isSame(const struct stat &a, const struct stat &b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/// Whether what was opened, which is `opened`, still has that name: its owner may have removed it
/// since, and another thread of the owner made a new one.
static bool stillHasName(const struct stat &opened, int folder, const char *name) {
  struct stat named;
  return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && isSame(opened, named);
}

/// While this process holds the lock, no other one removes or renames what the name stands for.
static void removeIfAbandoned(int folder, const char *name) {
  const int descriptor = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return;
  struct stat opened;
  if (isAbandoned(descriptor) && fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) &&
      stillHasName(opened, folder, name))
    unlinkat(folder, name, 0);
  close(descriptor);
}

void removeLeftovers(const std::string &folder, std::string_view name) {
  std::unique_ptr<DIR, decltype(&closedir)> listing(opendir(folder.c_str()), &closedir);
  if (!listing)
    return;
  while (const dirent *entry = readdir(listing.get()))
    if (isTemporary(entry->d_name, name))
      removeIfAbandoned(dirfd(listing.get()), entry->d_name);
}

/// Takes the lock on a file just made. A process that cleans up may have been faster.
static bool claim(int descriptor) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return false;
  struct stat status;
  return fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

/// Opens a file that was not there; its name goes to `name`. -1 with errno if there can be none.
static int createTemporary(const Place &place, std::string &name) {
  constexpr unsigned attempts = 10000;
  // What is to be private is so from the beginning.
  const mode_t mode = place.found ? 0600 : 0666;
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    name = concat(place.folder, "/", shortened(place.name), temporaryMark, getpid(), "-", attempt,
                  temporaryEnd);
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0 && claim(descriptor))
      return descriptor;
    if (descriptor >= 0)
      close(descriptor);
    else if (errno != EEXIST)
      return -1;
  }
  return -1;
}

//--------------------------------------------------------------------------------------------------
// The writer
//--------------------------------------------------------------------------------------------------

static int openStream(const Place &place) {
  if (place.ownDescriptor >= 0)
    return fcntl(place.ownDescriptor, F_DUPFD_CLOEXEC, 3);
  return open(place.path().c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

/// Owner first: a change of it may take permissions away.
static void keepOwnerAndMode(int descriptor, const struct stat &old) {
  if (fchown(descriptor, old.st_uid, old.st_gid) != 0 &&
      fchown(descriptor, static_cast<uid_t>(-1), old.st_gid) != 0)
    errno = 0; // a file of somebody else: the new one is ours
  fchmod(descriptor, old.st_mode & 0777);
}

static Status checkReplaceable(const Place &place, const std::string &path) {
  if (place.found && faccessat(AT_FDCWD, place.path().c_str(), W_OK, AT_EACCESS) != 0)
    return ioFailure(path, "cannot write");
  return {};
}

Result<FileWriter> FileWriter::create(const std::string &path, Durability durability) {
  DLC_TRY_ASSIGN(place, resolve(path));
  if (place.isStream()) {
    const int descriptor = openStream(place);
    if (descriptor < 0)
      return ioFailure(path, "cannot write");
    return FileWriter(descriptor, path, {}, place.path(), durability);
  }
  DLC_TRY(checkReplaceable(place, path));
  if (durability == Durability::Durable)
    removeLeftovers(place.folder, place.name);
  std::string temporary;
  const int descriptor = createTemporary(place, temporary);
  if (descriptor < 0)
    return ioFailure(path, concat("cannot create a file in ", place.folder));
  if (place.found)
    keepOwnerAndMode(descriptor, *place.found);
  return FileWriter(descriptor, path, std::move(temporary), place.path(), durability);
}

FileWriter::FileWriter(FileWriter &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), durability(other.durability),
      path(std::move(other.path)), temporary(std::move(other.temporary)),
      target(std::move(other.target)), pending(std::move(other.pending)) {}

FileWriter::~FileWriter() {
  if (descriptor < 0)
    return;
  // Before the lock goes, so that the name is still ours.
  if (!temporary.empty())
    unlink(temporary.c_str());
  close(descriptor);
}

bool writeAll(int descriptor, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written = ::write(descriptor, data.data(), data.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    data = data.subspan(static_cast<size_t>(written));
  }
  return true;
}

Status FileWriter::write(std::span<const std::byte> data) {
  return writeAll(descriptor, data) ? Status() : ioFailure(path, "cannot write");
}

Status FileWriter::writeOut() {
  Status written = write(pending);
  pending.clear();
  return written;
}

/// Small pieces are put together first.
Status FileWriter::append(std::span<const std::byte> data) {
  constexpr size_t flushAt = 1 << 20;
  if (pending.size() + data.size() < flushAt) {
    pending.insert(pending.end(), data.begin(), data.end());
    return {};
  }
  DLC_TRY(writeOut());
  return write(data);
}

/// A rename lasts when the folder that holds the name does. A folder that may be written to but not
/// read cannot be opened for that: then it is the file system's word.
static Status syncFolderOf(const std::string &path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return {};
  const bool lost = fsync(descriptor) != 0 && errno == EIO;
  Status result = lost ? ioFailure(folder, "cannot synchronise the folder") : Status();
  close(descriptor);
  return result;
}

/// Pipes and terminals have nothing to synchronise.
Status FileWriter::finishStream() {
  const bool lost = fsync(descriptor) != 0 && errno == EIO;
  if ((close(std::exchange(descriptor, -1)) != 0 && errno != EINTR) || lost)
    return ioFailure(path, "cannot write");
  return {};
}

Status FileWriter::commit() {
  DLC_TRY(writeOut());
  if (temporary.empty())
    return finishStream();
  const bool durable = durability == Durability::Durable;
  if (durable && fsync(descriptor) != 0)
    return ioFailure(path, "cannot synchronise");
  if (rename(temporary.c_str(), target.c_str()) != 0)
    return ioFailure(path, "cannot replace it by its new content");
  close(std::exchange(descriptor, -1));
  return durable ? syncFolderOf(target) : Status();
}

Status putInPlace(const std::string &temporary, const std::string &path) {
  const int descriptor = open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
  const bool lost = descriptor < 0 || fsync(descriptor) != 0;
  if (descriptor >= 0)
    close(descriptor);
  if (lost)
    return ioFailure(temporary, "cannot synchronise");
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return ioFailure(path, "cannot replace it by its new content");
  return syncFolderOf(path);
}

void removeFile(const std::string &path) { unlink(path.c_str()); }

Status writeFile(const std::string &path, std::span<const std::byte> content,
                 Durability durability) {
  DLC_TRY_ASSIGN(writer, FileWriter::create(path, durability));
  DLC_TRY(writer.append(content));
  return writer.commit();
}

Status writeFile(const std::string &path, std::string_view content, Durability durability) {
  return writeFile(path, std::as_bytes(std::span(content)), durability);
}

Result<LineWriter> LineWriter::open(const std::string &path, bool append) {
  DLC_TRY_ASSIGN(place, resolve(path));
  const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC);
  LineWriter writer(place.isStream() ? openStream(place) : ::open(path.c_str(), flags, 0666), path);
  if (writer.descriptor < 0)
    return ioFailure(path, "cannot write");
  if (place.isStream())
    return writer;
  // Whoever wrote the last line may have ended within it.
  char last = '\n';
  if (const off_t end = lseek(writer.descriptor, 0, SEEK_END); end > 0)
    (void)!pread(writer.descriptor, &last, 1, end - 1);
  if (last != '\n')
    DLC_TRY(writer.add(""));
  return writer;
}

LineWriter::LineWriter(LineWriter &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), path(std::move(other.path)) {}

LineWriter::~LineWriter() {
  if (descriptor >= 0)
    close(descriptor);
}

Status LineWriter::add(std::string_view line) {
  const std::string whole = concat(line, "\n");
  return append(std::as_bytes(std::span(whole)));
}

Status LineWriter::append(std::span<const std::byte> bytes) {
  return writeAll(descriptor, bytes) ? Status() : ioFailure(path, "cannot write");
}

static Status copyFile(const std::string &path, const std::string &to) {
  DLC_TRY_ASSIGN(file, File::openForReading(path));
  DLC_TRY_ASSIGN(writer, FileWriter::create(to));
  DLC_TRY(file.readPieces(1 << 20, [&](auto piece, uint64_t) -> Result<size_t> {
    DLC_TRY(writer.append(piece));
    return piece.size();
  }));
  return writer.commit();
}

Status addName(const std::string &path, const std::string &other) {
  if (isSameFile(path, other))
    return {};
  unlink(other.c_str());
  if (linkat(AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return {};
  return copyFile(path, other);
}

bool isSameFile(const std::string &a, const std::string &b) {
  struct stat first, second;
  const bool found = stat(a.c_str(), &first) == 0;
  if (found != (stat(b.c_str(), &second) == 0))
    return false;
  if (found)
    return S_ISREG(first.st_mode) && isSame(first, second);
  std::error_code error;
  const std::filesystem::path place = std::filesystem::weakly_canonical(a, error);
  return !place.empty() && place == std::filesystem::weakly_canonical(b, error);
}

bool isStream(const std::string &path) {
  const Result<Place> place = resolve(path);
  return place.ok() && place->isStream();
}

Status checkWritable(const std::string &path, std::span<const std::string> inputs) {
  DLC_TRY_ASSIGN(place, resolve(path));
  for (const std::string &input : inputs)
    if (isSameFile(path, input))
      return invalid(path, ": is an input as well; name another file for the output");
  if (place.isStream())
    return place.ownDescriptor >= 0 ? Status() : checkReplaceable(place, path);
  return FileWriter::create(path).takeStatus();
}

//--------------------------------------------------------------------------------------------------
// Scratch folders: TMPDIR/dlc-PID-NUMBER, locked as temporary files are
//--------------------------------------------------------------------------------------------------

namespace fs = std::filesystem;

static constexpr std::string_view scratchStart = "dlc-";

static int openFolder(const std::string &path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void removeAbandonedFolders(const fs::path &parent) {
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::string_view rest = name;
    if (!rest.starts_with(scratchStart))
      continue;
    rest.remove_prefix(scratchStart.size());
    if (!takeOwner(rest) || !rest.empty())
      continue;
    const int descriptor = openFolder(it->path().string());
    struct stat status;
    std::error_code ignored;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_uid == geteuid() &&
        isAbandoned(descriptor) && stillHasName(status, AT_FDCWD, it->path().c_str()))
      fs::remove_all(it->path(), ignored);
    if (descriptor >= 0)
      close(descriptor);
  }
}

Result<ScratchFolder> ScratchFolder::create() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error)
    return failure(StatusCode::Io, "no folder for temporary files: ", error.message(),
                   "; TMPDIR names one");
  removeAbandonedFolders(parent);
  for (unsigned number = 0;; ++number) {
    std::string path = (parent / concat(scratchStart, getpid(), "-", number)).string();
    if (mkdir(path.c_str(), 0700) != 0) {
      if (errno == EEXIST)
        continue;
      return ioFailure(path, "cannot make the folder");
    }
    const int descriptor = openFolder(path);
    struct stat opened;
    if (descriptor >= 0 && claim(descriptor) && fstat(descriptor, &opened) == 0 &&
        stillHasName(opened, AT_FDCWD, path.c_str()))
      return ScratchFolder(descriptor, std::move(path));
    if (descriptor >= 0)
      close(descriptor);
  }
}

ScratchFolder::ScratchFolder(ScratchFolder &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), folder(std::move(other.folder)) {}

ScratchFolder::~ScratchFolder() {
  if (descriptor < 0)
    return;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  close(descriptor);
}

Result<std::string> ScratchFolder::write(std::string_view name, std::string_view content) const {
  std::string path = pathOf(name);
  DLC_TRY(writeFile(path, content, Durability::Cached));
  return path;
}

} // namespace dlc::runtime
