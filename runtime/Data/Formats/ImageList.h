// Lists of pictures, as Pictures/ListFile.h has them.
#ifndef DLC_RUNTIME_DATA_FORMATS_IMAGELIST_H
#define DLC_RUNTIME_DATA_FORMATS_IMAGELIST_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One split of a folder with the lists train.txt and val.txt, or else test.txt; or both of a list.
Result<std::shared_ptr<const Dataset>> openImageList(const std::string &path, Split split,
                                                     const EntryInfo *reader);

/// Whether a split has a list of its own, or is that for training.
bool hasImageListSplit(const std::string &path, Split split);

/// The lists of a split that may be there.
std::vector<std::string> imageListFiles(const std::string &path, Split split);

} // namespace dlc::runtime

#endif
