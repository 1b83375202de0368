// WebDataset's shards: tar files, in which files side by side that differ in their ending are a
// sample.
#ifndef DLC_RUNTIME_DATA_FORMATS_TARSHARDS_H
#define DLC_RUNTIME_DATA_FORMATS_TARSHARDS_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One split of the shards that `path` names as Shards.h says. A sample has a picture (.jpg, .jpeg,
/// .png or .webp), and its label as a number in text (.cls) or in JSON (.json): a number, or an
/// object's "label" or else "cls". The name up to the first dot behind its last slash is the key
/// that the files of a sample share; what begins with a dot or has another ending is left out.
/// Where TarIndex.h's index lies beside a shard that is read instead; else a shard is walked
/// through once.
Result<std::shared_ptr<const Dataset>> openTarShards(const std::string &path, Split split,
                                                     const EntryInfo *reader);

bool hasTarSplit(const std::string &path, Split split);

/// The shards and their indices.
std::vector<std::string> tarFiles(const std::string &path, Split split);

} // namespace dlc::runtime

#endif
