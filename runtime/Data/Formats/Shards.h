// Files that many samples lie in: which of them a description names, and reading pieces of them.
#ifndef DLC_RUNTIME_DATA_FORMATS_SHARDS_H
#define DLC_RUNTIME_DATA_FORMATS_SHARDS_H

#include "dlc/data.h"
#include "runtime/Core/File.h"

#include <array>
#include <memory>
#include <mutex>

namespace dlc::runtime {

/// What a format's files are called.
struct ShardKind {
  /// Whether something of this name in a folder is one; the folder ends with a slash.
  bool (*isShard)(const std::string &folder, std::string_view name);
  /// For messages: "files whose names end in .tar".
  std::string_view expected;
  /// A shard may be a folder: then not each folder has shards in it.
  bool folders = false;
};

/// The shards of a split, by name, there or not. `path` is one, or a pattern with `*`, `?` or
/// `{000..012}`, of which each number is a name: then both splits are the same. Or it is a folder:
/// of shards in FOLDER/train, and FOLDER/val or else FOLDER/test; or of shards whose names have one
/// of these words in them ("imagenet-train-000000.tar"), of which no word at all is for both.
std::vector<std::string> shardFiles(const std::string &path, Split split, const ShardKind &kind);

/// Whether a split has shards of its own, or is that for training.
bool hasShardSplit(const std::string &path, Split split, const ShardKind &kind);

/// shardFiles(), of which there must be one.
Result<std::vector<std::string>> findShards(const std::string &path, Split split,
                                            const ShardKind &kind);

/// No record may be larger: pictures of such sizes are none.
inline constexpr uint64_t mostRecordBytes = uint64_t(1) << 30;

/// Small pieces of a file one behind the other, a page at a time.
class FileWindow {
public:
  explicit FileWindow(const File &file) : file(file) {}
  /// At most a page from `offset`, valid until the next call. Fails as File::readAt() does.
  Result<std::span<const std::byte>> at(uint64_t offset, size_t bytes);

private:
  const File &file;
  uint64_t begin = 0;
  size_t held = 0;
  std::array<std::byte, 4096> page;
};

/// Files that are opened when they are first read, and stay open as long as the process may have
/// so many.
class ShardFiles {
public:
  explicit ShardFiles(std::vector<std::string> paths);
  const std::vector<std::string> &paths() const { return names; }
  /// Bytes that a file has.
  Result<uint64_t> size(size_t file) const;
  Status readAt(size_t file, uint64_t offset, std::span<std::byte> destination) const;

private:
  template <typename Body> std::invoke_result_t<Body, const File &> with(size_t, Body) const;
  std::vector<std::string> names;
  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<const File>> kept;
  mutable size_t keptCount = 0;
  size_t mostKept;
};

/// Where a record lies in its file.
struct ShardRecord {
  uint64_t offset = 0;
  /// 0: the record itself says it.
  uint32_t bytes = 0;
  /// Below 0: the record itself says it.
  int32_t label = -1;
};

/// The records of several files, one file behind the other: 16 bytes for each.
class ShardIndex {
public:
  /// Calls `scan` for the files, for several at once.
  using Scan = Result<std::vector<ShardRecord>> (*)(const std::string &path);
  static Result<ShardIndex> open(std::vector<std::string> paths, Scan scan);

  uint64_t size() const { return records.size(); }
  const ShardRecord &operator[](uint64_t index) const { return records[index]; }
  /// Which file a record is in.
  size_t fileOf(uint64_t index) const;
  /// Its number among those of its file.
  uint64_t numberOf(uint64_t index) const { return index - starts[fileOf(index)]; }
  const ShardFiles &files() const { return *shards; }

private:
  std::unique_ptr<const ShardFiles> shards;
  std::vector<ShardRecord> records;
  /// Of each file its first record.
  std::vector<uint64_t> starts;
};

} // namespace dlc::runtime

#endif
