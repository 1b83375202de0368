// MXNet's RecordIO, as its im2rec writes pictures.
#ifndef DLC_RUNTIME_DATA_FORMATS_RECORDIO_H
#define DLC_RUNTIME_DATA_FORMATS_RECORDIO_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One split of the .rec files that `path` names as Shards.h says. A record has an IRHeader with
/// one label or several, whole numbers, as many as the first has, and a picture. The records are
/// those of FILE.idx beside FILE.rec, in its order; where there is none, the file is walked through
/// once.
Result<std::shared_ptr<const Dataset>> openRecordIo(const std::string &path, Split split,
                                                    const EntryInfo *reader);

bool hasRecordIoSplit(const std::string &path, Split split);

/// The files of records and their indices.
std::vector<std::string> recordIoFiles(const std::string &path, Split split);

} // namespace dlc::runtime

#endif
