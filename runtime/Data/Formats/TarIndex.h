// What says where the samples of a tar shard are, so that it need not be walked through: beside
// SHARD.tar a text SHARD.idx, as NVIDIA DALI's wds2idx writes and reads it (v1.2), and behind that
// a line of dlc's own, which DALI does not read:
//
//   v1.2 2
//   jpg 512 110210 a/1.jpg cls 111616 1 a/1.cls
//   png 113152 4711 a/2.png cls 118784 2 a/2.cls
//   dlc 120832 7 12
//
// Each line has a sample's files: ending, offset of the bytes, their number, name. dlc's line has
// the bytes of the tar file, and the labels.
#ifndef DLC_RUNTIME_DATA_FORMATS_TARINDEX_H
#define DLC_RUNTIME_DATA_FORMATS_TARINDEX_H

#include "runtime/Data/Formats/Shards.h"

#include <optional>

namespace dlc::runtime {

/// Of "x/shard-000000.tar" "x/shard-000000.idx".
std::string tarIndexPath(const std::string &tar);

/// The samples by a shard's index: where the picture is, and the label. Nothing where there is no
/// index, or one without dlc's line; then the shard is to be walked through. Fails with Damaged for
/// one that is not what it should be, and for that of a tar file of another size.
Result<std::optional<std::vector<ShardRecord>>> readTarIndex(const std::string &tar);

/// Collects what an index consists of.
class TarIndexText {
public:
  /// A sample's picture and its .cls: where their bytes lie.
  void add(std::string_view ending, uint64_t offset, uint64_t bytes, std::string_view key,
           uint64_t labelOffset, uint64_t labelBytes, int32_t label);
  uint64_t size() const { return count; }
  /// The index of a tar file of `tarBytes` bytes.
  std::string text(uint64_t tarBytes) const;

private:
  uint64_t count = 0;
  std::string lines, labels;
};

/// Ends the name of what can be decoded: jpg, jpeg, png or webp.
bool isPictureEnding(std::string_view ending);

} // namespace dlc::runtime

#endif
