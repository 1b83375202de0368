// Writing pictures packed: many samples in few files, as what reads them in any order over a slow
// or shared file system wants them.
//
// The same samples give the same bytes. What is written is there whole behind finish(): shard by
// shard, each under a temporary name until it is full. Threads: one writer, one thread.
#ifndef DLC_RUNTIME_DATA_FORMATS_RECORDWRITER_H
#define DLC_RUNTIME_DATA_FORMATS_RECORDWRITER_H

#include "dlc/status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dlc::runtime {

/// Pixels as they are, channels first.
struct RawPicture {
  uint32_t channels = 0, height = 0, width = 0;
  /// channels x height x width of them.
  std::span<const std::byte> pixels;
};

class RecordWriter {
public:
  virtual ~RecordWriter() = default;
  /// Adds a sample whose picture is a JPEG, PNG or WebP file's bytes, which stay as they are. `key`
  /// is a path without an ending, as "n01440764/n01440764_18"; what a name may not have in it is
  /// written as '_'. No two samples in a row may have one key. Fails with InvalidArgument for what
  /// is no such picture or a label below 0.
  virtual Status add(std::string_view key, std::span<const std::byte> picture, int32_t label) = 0;
  /// Adds a sample of raw pixels. In tar shards it becomes a PNG, so it has 1 or 3 channels.
  virtual Status addRaw(std::string_view key, const RawPicture &picture, int32_t label) = 0;
  /// Writes out what is left. Nothing may be added behind it.
  virtual Status finish() = 0;
};

/// WebDataset shards FOLDER/NAME-000000.tar, ... of at most about `shardBytes` each (a sample more
/// where one alone is larger), and FOLDER/NAME-000000.idx beside each, as TarIndex.h has it. The
/// folder is made if there is none; shards of the same name that are there are replaced, and
/// finish() fails if there are more of them than were written.
Result<std::unique_ptr<RecordWriter>> createTarWriter(const std::string &folder,
                                                      std::string_view name, uint64_t shardBytes);

/// LMDB with Caffe's Datum, FOLDER/data.mdb, by libdlc_lmdb.so. Fails with Unsupported if that is
/// not there.
Result<std::unique_ptr<RecordWriter>> createLmdbWriter(const std::string &folder);

} // namespace dlc::runtime

#endif
