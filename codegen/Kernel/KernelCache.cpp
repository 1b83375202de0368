//===- KernelCache.cpp - see KernelCache.h ----------------------------------------------------===//
#include "codegen/Kernel/KernelCache.h"
#include "runtime/Core/FileWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <filesystem>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace dlc;
using namespace dlc::codegen;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace {
struct EntryHeader {
  char magic[8] = {'D', 'L', 'C', 'K', 'E', 'R', 'N', '1'};
  uint64_t size = 0;
  KernelKey hash = {};
};
} // namespace

static constexpr StringRef extension = ".o";

KernelKey dlc::codegen::hashText(StringRef text) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
  KernelKey key;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), key.begin());
  return key;
}

std::string dlc::codegen::hexadecimal(llvm::ArrayRef<uint8_t> bytes) {
  return llvm::toHex(bytes, /*LowerCase=*/true);
}

KernelCache::KernelCache(StringRef wanted) : folder(wanted.str()) {
  if (!folder.empty())
    return;
  llvm::SmallString<128> path;
  if (auto cache = llvm::sys::Process::GetEnv("XDG_CACHE_HOME"); cache && !cache->empty())
    path = *cache;
  else if (auto home = llvm::sys::Process::GetEnv("HOME"); home && !home->empty())
    llvm::sys::path::append(path = *home, ".cache");
  else
    return;
  llvm::sys::path::append(path, "dlc", "kernels");
  folder = path.str().str();
}

std::string KernelCache::pathOf(const KernelKey &key) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, hexadecimal(key) + extension);
  return path.str().str();
}

std::optional<std::string> KernelCache::load(const KernelKey &key) const {
  if (folder.empty())
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(pathOf(key), /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!buffer || (*buffer)->getBufferSize() < sizeof(EntryHeader))
    return std::nullopt;
  StringRef bytes = (*buffer)->getBuffer(), object = bytes.drop_front(sizeof(EntryHeader));
  EntryHeader expected, found;
  std::memcpy(&found, bytes.data(), sizeof(found));
  expected.size = object.size();
  expected.hash = hashText(object);
  if (std::memcmp(&expected, &found, sizeof(found)) != 0)
    return std::nullopt;
  // The time of the last use decides what trim deletes.
  std::error_code ignored;
  std::filesystem::last_write_time(pathOf(key), std::filesystem::file_time_type::clock::now(),
                                   ignored);
  return object.str();
}

void KernelCache::store(const KernelKey &key, StringRef object) const {
  if (folder.empty() || fs::create_directories(folder))
    return;
  EntryHeader header;
  header.size = object.size();
  header.hash = hashText(object);
  std::string entry(reinterpret_cast<const char *>(&header), sizeof(header));
  entry += object;
  // An entry that could not be written is made again by the next compilation.
  (void)runtime::writeFile(pathOf(key), entry, runtime::Durability::Cached);
}

void KernelCache::trim(uint64_t bytes) const {
  runtime::removeLeftovers(folder);
  struct Entry {
    std::string path;
    uint64_t size;
    llvm::sys::TimePoint<> used;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    fs::file_status status;
    if (!StringRef(it->path()).ends_with(extension) || fs::status(it->path(), status))
      continue;
    entries.push_back({it->path(), status.getSize(), status.getLastModificationTime()});
    total += status.getSize();
  }
  llvm::sort(entries, [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= bytes)
      return;
    if (!fs::remove(entry.path))
      total -= entry.size;
  }
}
