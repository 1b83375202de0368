// Pictures, or pixels as they are, that lie many in a file with a label each: what tar shards,
// TFRecord, RecordIO and LMDB become.
#ifndef DLC_RUNTIME_DATA_FORMATS_PACKEDPICTURES_H
#define DLC_RUNTIME_DATA_FORMATS_PACKEDPICTURES_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// A record that was read.
struct PackedRecord {
  /// The picture as its file would have it, or pixels: in `room` or in what the source has mapped.
  std::span<const std::byte> picture = {};
  /// As many as the source says.
  std::vector<int32_t> labels = {};
  /// For messages: "shard.tar: 'a/1.jpg' at byte 512".
  std::string place = {};
  std::vector<std::byte> room = {};
};

/// Where records are read from, by number. Threads: by several at once.
class PackedSource {
public:
  virtual ~PackedSource() = default;
  virtual uint64_t size() const = 0;
  /// Fails with Damaged, file and place first, for a record that is not what it should be.
  virtual Status read(uint64_t index, PackedRecord &record) const = 0;
  /// Where it is known without reading; else null, of every record.
  virtual const int32_t *label([[maybe_unused]] uint64_t index) const { return nullptr; }
  /// Labels of each record.
  virtual uint64_t labelCount() const { return 1; }
  /// Of pixels that are no pictures, and have one size: how they lie. Null of pictures.
  virtual const DatasetField *pixels() const { return nullptr; }
};

/// A dataset of an image and a label; pictures have as many channels as the input of `reader` takes
/// that images go to. `name` is for messages. Fails for a source without records.
Result<std::shared_ptr<const Dataset>>
openPackedPictures(std::string name, std::unique_ptr<const PackedSource> source,
                   const EntryInfo *reader);

} // namespace dlc::runtime

#endif
