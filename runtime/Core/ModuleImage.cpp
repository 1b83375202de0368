// Sealed copies in memory, temporary files where those cannot be had.
#include "runtime/Core/ModuleImage.h"
#include "runtime/Core/ElfFile.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u // Linux 6.3
#endif

namespace dlc::runtime {

static Status systemFailure(std::string_view what) {
  const int error = errno;
  return failure(error == ENOMEM || error == ENOSPC ? StatusCode::OutOfMemory : StatusCode::Io,
                 what, ": ", std::strerror(error));
}

/// A memfd, which is mapped and never run as a program: systems that forbid the latter want to hear
/// so, and kernels that do not know the question refuse it.
static int createMemoryFile(std::string_view label) {
  constexpr size_t longestName = 200; // The system takes 249 bytes.
  const std::string name(label.substr(0, longestName));
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int descriptor = memfd_create(name.c_str(), flags | MFD_NOEXEC_SEAL);
  return descriptor < 0 && errno == EINVAL ? memfd_create(name.c_str(), flags) : descriptor;
}

/// Under which name this process can open one of its descriptors, debuggers as well; empty without
/// /proc. A process number is what the mounted /proc calls this process.
static std::string nameOfDescriptor(int descriptor) {
  char self[32];
  const ssize_t length = readlink("/proc/self", self, sizeof(self));
  if (length <= 0 || length == sizeof(self))
    return {};
  std::string name =
      concat("/proc/", std::string_view(self, static_cast<size_t>(length)), "/fd/", descriptor);
  return access(name.c_str(), R_OK) == 0 ? name : std::string();
}

static Status copyPiece(int descriptor, std::span<const std::byte> data) {
  return writeAll(descriptor, data) ? Status() : systemFailure("no private copy of the module");
}

/// A copy is made by writing: a page that cannot be had is then an error, where a write to a
/// mapping would be a signal.
template <typename Write> static Status copyPieces(const File &file, const Write &write) {
  return file.readPieces(1 << 20, [&](auto piece, uint64_t) -> Result<size_t> {
    DLC_TRY(write(piece).in(file.path()));
    return piece.size();
  });
}

Status ModuleImage::map(uint64_t size) {
  std::optional<FileMapping> mapped = FileMapping::map(descriptor, size, name);
  if (!mapped)
    return systemFailure("no private copy of the module");
  mapping.emplace(std::move(*mapped));
  return {};
}

/// Fails with Unsupported where there are no such files.
Result<ModuleImage> ModuleImage::copyToMemory(const File &file) {
  const std::string &path = file.path();
  const int descriptor = createMemoryFile(std::string_view(path).substr(path.rfind('/') + 1));
  if (descriptor < 0)
    return unsupported(path, ": no file in memory");
  ModuleImage image(descriptor, nameOfDescriptor(descriptor));
  if (image.name.empty())
    return unsupported(path, ": no name for a file in memory");
  DLC_TRY(copyPieces(file, [&](auto piece) { return copyPiece(descriptor, piece); }));
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(descriptor, F_ADD_SEALS, seals) != 0)
    return systemFailure("cannot seal the private copy").in(path);
  DLC_TRY(image.map(file.size()).in(path));
  return image;
}

Result<ModuleImage> ModuleImage::copyToFolder(const File &file) {
  Result<ScratchFolder> folder = ScratchFolder::create();
  if (!folder.ok())
    return folder.takeStatus().in("no private copy of the module").in(file.path());
  const std::string name = folder->pathOf("module.so");
  DLC_TRY_ASSIGN(writer, FileWriter::create(name, Durability::Cached));
  DLC_TRY(copyPieces(file, [&](auto piece) { return writer.append(piece); }));
  DLC_TRY(writer.commit().in(file.path()));
  ModuleImage image(::open(name.c_str(), O_RDONLY | O_CLOEXEC), name);
  image.folder.emplace(folder.take());
  DLC_TRY(image.map(file.size()).in(file.path()));
  return image;
}

/// Whether the process may write files of this size, in memory or elsewhere.
static bool mayCopy(uint64_t size) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

Result<ModuleImage> ModuleImage::useItself(File file) {
  const int descriptor = file.release();
  std::string name = nameOfDescriptor(descriptor);
  ModuleImage image(descriptor, name.empty() ? file.path() : std::move(name));
  DLC_TRY(image.map(file.size()).in(file.path()));
  return image;
}

ModuleImage::ModuleImage(ModuleImage &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), name(std::move(other.name)),
      folder(std::move(other.folder)), mapping(std::move(other.mapping)),
      library(std::exchange(other.library, nullptr)) {}

ModuleImage::~ModuleImage() {
  if (library)
    dlclose(library);
  if (descriptor >= 0)
    close(descriptor);
}

Result<ModuleImage> ModuleImage::copy(File file) {
  // What is no module is not worth a copy.
  std::byte start[ElfFile::headerBytes];
  const auto header = std::span(start).first(std::min<uint64_t>(sizeof(start), file.size()));
  DLC_TRY(file.readAt(0, header));
  DLC_TRY(ElfFile::checkHeader(header, file.size()).in(file.path()));
  if (file.size() > largest)
    return damaged(file.path(), ": has ", file.size(), " bytes, expected at most ", largest);
  if (!mayCopy(file.size()))
    return useItself(std::move(file));
  Result<ModuleImage> image = copyToMemory(file);
  return image.status().code() == StatusCode::Unsupported ? copyToFolder(file) : std::move(image);
}

Status ModuleImage::open() {
  library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  folder.reset();
  if (library)
    return {};
  const char *error = dlerror();
  std::string_view reason = error ? error : "unknown reason";
  if (const std::string prefix = name + ": "; reason.starts_with(prefix))
    reason.remove_prefix(prefix.size()); // It would say nothing to anyone.
  return damaged("cannot be opened as a library: ", reason);
}

void *ModuleImage::find(const char *symbol) const { return dlsym(library, symbol); }

} // namespace dlc::runtime
