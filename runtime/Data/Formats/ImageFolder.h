// A folder with a folder of pictures for each class, as torchvision's ImageFolder reads it.
#ifndef DLC_RUNTIME_DATA_FORMATS_IMAGEFOLDER_H
#define DLC_RUNTIME_DATA_FORMATS_IMAGEFOLDER_H

#include "runtime/Data/Dataset.h"

namespace dlc::runtime {

/// One split of FOLDER/train/CLASS/... and FOLDER/val/CLASS/..., or else FOLDER/test; or both of
/// FOLDER/CLASS/... Files whose names end in .jpg, .jpeg, .png or .webp are pictures, in folders of
/// folders as well. Classes are numbered by their names, those of tests as those of FOLDER/train;
/// samples are in the order of their classes and names.
Result<std::shared_ptr<const Dataset>> openImageFolder(const std::string &folder, Split split,
                                                       const EntryInfo *reader);

/// Whether a split has a folder of its own, or is that for training.
bool hasImageFolderSplit(const std::string &folder, Split split);

/// The folder itself: pictures may be a million.
std::vector<std::string> imageFolderFiles(const std::string &folder, Split split);

/// A picture, or all in a folder and those in it by their paths, without classes: the same samples
/// for both splits.
Result<std::shared_ptr<const Dataset>> openPictures(const std::string &path, Split split,
                                                    const EntryInfo *reader);
/// Whether it is there; tests have none of their own.
bool hasPictures(const std::string &path, Split split);

/// Whether it has folders as openImageFolder() expects them.
bool isImageFolder(const std::string &folder);

} // namespace dlc::runtime

#endif
