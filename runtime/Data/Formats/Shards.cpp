// Finding shards by their names, and indexing them side by side.
#include "runtime/Data/Formats/Shards.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <cstring>
#include <dirent.h>
#include <glob.h>
#include <sys/resource.h>

namespace dlc::runtime {
namespace {

/// Names in a folder that are shards, in order.
std::vector<std::string> shardsIn(const std::string &folder, const ShardKind &kind) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR *)> opened(opendir(folder.c_str()), closedir);
  const std::string start = folder + "/";
  while (const dirent *entry = opened ? readdir(opened.get()) : nullptr)
    if (entry->d_name[0] != '.' && kind.isShard(start, entry->d_name))
      names.emplace_back(entry->d_name);
  std::ranges::sort(names);
  return names;
}

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Whether one of the words, of letters, is in a name.
bool hasWord(std::string_view name, std::initializer_list<std::string_view> words) {
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    while (end < name.size() && isLetter(name[end]))
      ++end;
    for (std::string_view word : words)
      if (name.substr(at, end - at) == word)
        return true;
    at = std::max(end, at + 1);
  }
  return false;
}

bool isForTraining(std::string_view name) { return hasWord(name, {"train", "training"}); }
bool isForValidation(std::string_view name) {
  return hasWord(name, {"val", "valid", "validation"});
}
bool isForTests(std::string_view name) { return hasWord(name, {"test"}); }

/// Those of a split, by the words in their names; nothing where no name has any.
std::optional<std::vector<std::string>> byWords(const std::vector<std::string> &names,
                                                Split split) {
  const bool forTraining = std::ranges::any_of(names, isForTraining),
             forValidation = std::ranges::any_of(names, isForValidation),
             forTests = std::ranges::any_of(names, isForTests);
  if (!forTraining && !forValidation && !forTests)
    return std::nullopt;
  std::vector<std::string> chosen;
  for (const std::string &name : names) {
    const bool isOther = isForValidation(name) || isForTests(name);
    if (split == Split::Train ? (forTraining ? isForTraining(name) : !isOther)
        : forValidation       ? isForValidation(name)
                              : isForTests(name))
      chosen.push_back(name);
  }
  return chosen;
}

/// What a folder has for a split; whether that is for both.
struct Chosen {
  std::vector<std::string> paths;
  bool both = false;
};

Chosen chooseIn(const std::string &folder, Split split, const ShardKind &kind) {
  Chosen chosen;
  std::vector<std::string> names = shardsIn(folder, kind);
  std::string start = folder + "/";
  if (names.empty()) {
    const std::string validation = start + "val";
    start += split == Split::Train ? "train" : isFolder(validation) ? "val" : "test";
    names = shardsIn(start, kind);
    start += "/";
  } else if (auto own = byWords(names, split)) {
    names = std::move(*own);
  } else {
    chosen.both = true;
  }
  for (const std::string &name : names)
    chosen.paths.push_back(start + name);
  return chosen;
}

/// Adds what a pattern's `{000..012}` stand for.
void expandNumbers(const std::string &pattern, std::vector<std::string> &out) {
  constexpr uint64_t most = 1 << 20;
  const size_t open = pattern.find('{'), dots = pattern.find("..", open),
               close = pattern.find('}', dots);
  uint64_t first = 0, last = 0;
  if (open != std::string::npos && close != std::string::npos) {
    std::string_view begin = std::string_view(pattern).substr(open + 1, dots - open - 1),
                     end = std::string_view(pattern).substr(dots + 2, close - dots - 2);
    const size_t digits = begin.size();
    if (takeNumber(begin, first) && takeNumber(end, last) && begin.empty() && end.empty() &&
        first <= last && last - first < most && out.size() < most) {
      for (uint64_t number = first; number <= last; ++number) {
        std::string text = std::to_string(number);
        text.insert(0, digits > text.size() ? digits - text.size() : 0, '0');
        expandNumbers(concat(pattern.substr(0, open), text, pattern.substr(close + 1)), out);
      }
      return;
    }
  }
  out.push_back(pattern);
}

std::vector<std::string> expandPattern(const std::string &pattern) {
  std::vector<std::string> numbered, paths;
  expandNumbers(pattern, numbered);
  for (const std::string &path : numbered) {
    glob_t found = {};
    if (path.find_first_of("*?") != std::string::npos &&
        glob(path.c_str(), 0, nullptr, &found) == 0)
      paths.insert(paths.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    else
      paths.push_back(path);
    globfree(&found);
  }
  return paths;
}

/// Whether a path is one shard, as LMDB's folder is.
bool isOneShard(const std::string &path, const ShardKind &kind) {
  const size_t slash = path.find_last_not_of('/') == std::string::npos
                           ? std::string::npos
                           : path.rfind('/', path.find_last_not_of('/'));
  const size_t nameAt = slash == std::string::npos ? 0 : slash + 1;
  return kind.isShard(path.substr(0, nameAt), std::string_view(path).substr(nameAt));
}

bool isFolderOfShards(const std::string &path, const ShardKind &kind) {
  return isFolder(path) && !(kind.folders && isOneShard(path, kind));
}

} // namespace

std::vector<std::string> shardFiles(const std::string &path, Split split, const ShardKind &kind) {
  if (isFolderOfShards(path, kind))
    return chooseIn(path, split, kind).paths;
  return isThere(path) ? std::vector{path} : expandPattern(path);
}

bool hasShardSplit(const std::string &path, Split split, const ShardKind &kind) {
  if (!isFolderOfShards(path, kind))
    return split == Split::Train && std::ranges::any_of(shardFiles(path, split, kind), isThere);
  const Chosen chosen = chooseIn(path, split, kind);
  return !chosen.paths.empty() && (split == Split::Train || !chosen.both);
}

Result<std::vector<std::string>> findShards(const std::string &path, Split split,
                                            const ShardKind &kind) {
  std::vector<std::string> files = shardFiles(path, split, kind);
  if (files.empty())
    return failure(StatusCode::Io, path, ": no ", kind.expected, " in it",
                   split == Split::Train ? " or in its folder train"
                                         : " for tests, and none in its folder val or test");
  return files;
}

Result<std::span<const std::byte>> FileWindow::at(uint64_t offset, size_t bytes) {
  if (offset < begin || !fits(offset - begin, bytes, held)) {
    const uint64_t left = file.size() - std::min(offset, file.size());
    held = std::max<uint64_t>(bytes, std::min<uint64_t>(page.size(), left));
    begin = offset;
    if (Status read = file.readAt(offset, std::span(page).first(held)); !read.ok()) {
      held = 0;
      return read;
    }
  }
  return std::span<const std::byte>(page).subspan(offset - begin, bytes);
}

ShardFiles::ShardFiles(std::vector<std::string> paths)
    : names(std::move(paths)), kept(names.size()) {
  // Others of the program's need descriptors too.
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  mostKept = limit.rlim_cur / 4;
}

template <typename Body>
std::invoke_result_t<Body, const File &> ShardFiles::with(size_t number, Body body) const {
  std::unique_lock lock(mutex);
  const File *file = kept[number].get();
  lock.unlock();
  if (file)
    return body(*file);
  DLC_TRY_ASSIGN(opened, File::openForReading(names[number]));
  lock.lock();
  if (kept[number] || keptCount == mostKept) {
    lock.unlock();
    return body(opened);
  }
  ++keptCount;
  kept[number] = std::make_unique<const File>(std::move(opened));
  file = kept[number].get();
  lock.unlock();
  return body(*file);
}

Result<uint64_t> ShardFiles::size(size_t file) const {
  return with(file, [](const File &opened) -> Result<uint64_t> { return opened.size(); });
}

Status ShardFiles::readAt(size_t file, uint64_t offset, std::span<std::byte> destination) const {
  return with(file, [&](const File &opened) { return opened.readAt(offset, destination); });
}

Result<ShardIndex> ShardIndex::open(std::vector<std::string> paths, Scan scan) {
  ShardIndex index;
  std::vector<std::vector<ShardRecord>> found(paths.size());
  std::vector<Status> statuses(paths.size());
  // Of a slow file system as well, as many files at once as there are processors.
  forEachPiece(paths.size(), [&](uint64_t i) {
    statuses[i] = guarded([&]() -> Status {
      DLC_TRY_ASSIGN(records, scan(paths[i]));
      found[i] = std::move(records);
      return {};
    });
  });
  uint64_t count = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    DLC_TRY(std::move(statuses[i]));
    index.starts.push_back(count);
    count += found[i].size();
  }
  index.records.reserve(count);
  for (std::vector<ShardRecord> &records : found) {
    index.records.insert(index.records.end(), records.begin(), records.end());
    records = {};
  }
  index.shards = std::make_unique<const ShardFiles>(std::move(paths));
  return index;
}

size_t ShardIndex::fileOf(uint64_t index) const {
  return static_cast<size_t>(std::ranges::upper_bound(starts, index) - starts.begin()) - 1;
}

} // namespace dlc::runtime
