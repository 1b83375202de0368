// LMDB databases of Caffe's Datum, as its convert_imageset writes them.
#ifndef DLC_RUNTIME_DATA_FORMATS_LMDBDATASET_H
#define DLC_RUNTIME_DATA_FORMATS_LMDBDATASET_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// The database of a split: a folder with data.mdb, or a file; in a folder of them named as
/// Shards.h says. Records are encoded pictures, or all of them are u8 or f32 pixels of one size, as
/// the first one is. Fails with Unsupported where libdlc_lmdb.so is not there.
Result<std::shared_ptr<const Dataset>> openLmdbDataset(const std::string &path, Split split,
                                                       const EntryInfo *reader);

bool hasLmdbSplit(const std::string &path, Split split);

/// Files, or folders with data.mdb.
std::vector<std::string> lmdbFiles(const std::string &path, Split split);

} // namespace dlc::runtime

#endif
