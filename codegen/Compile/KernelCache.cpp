//===- KernelCache.cpp - see KernelCache.h ----------------------------------------------------===//
#include "codegen/Compile/KernelCache.h"
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
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
/// What stands before an object. The key is that of the entry's name, too: a file under another
/// name, copied or renamed, is no entry.
struct EntryHeader {
  char magic[8] = {'D', 'L', 'C', 'K', 'E', 'R', 'N', '2'};
  uint64_t size = 0;
  KernelKey hash = {}, key = {};
};
} // namespace

static constexpr StringRef extension = ".o";

static EntryHeader headerOf(const KernelKey &key, StringRef object) {
  EntryHeader header;
  header.size = object.size();
  header.hash = hashText(object);
  header.key = key;
  return header;
}

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
  constexpr uint64_t largest = uint64_t(1) << 30;
  auto content = runtime::readWholeFile(pathOf(key), largest);
  if (!content.ok() || content->size() < sizeof(EntryHeader))
    return std::nullopt;
  StringRef bytes(reinterpret_cast<const char *>(content->data()), content->size());
  StringRef object = bytes.drop_front(sizeof(EntryHeader));
  const EntryHeader expected = headerOf(key, object);
  if (std::memcmp(&expected, bytes.data(), sizeof(expected)) != 0)
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
  const EntryHeader header = headerOf(key, object);
  std::string entry(reinterpret_cast<const char *>(&header), sizeof(header));
  entry += object;
  // A pipe would be waited for, a device written to. LLVM's remove leaves such alone.
  const std::string path = pathOf(key);
  std::error_code ignored;
  if (const auto status = std::filesystem::symlink_status(path, ignored);
      exists(status) && !is_regular_file(status) && !is_directory(status))
    std::filesystem::remove(path, ignored);
  // An entry that could not be written is made again by the next compilation.
  (void)runtime::writeFile(path, entry, runtime::Durability::Cached);
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
    if (!StringRef(it->path()).ends_with(extension) || fs::status(it->path(), status) ||
        status.type() != fs::file_type::regular_file)
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
