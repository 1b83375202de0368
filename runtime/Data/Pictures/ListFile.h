// Lists of pictures: in each line a path and the number of a class, as Caffe has them, or columns
// of numbers and of further pictures, as masks, whose names may stand in the first line:
//
//   # image x.0 x.1 mask
//   a.jpg 0.5 -1 masks/a.png
//
// Part of libdlc_images.so.
#ifndef DLC_RUNTIME_DATA_PICTURES_LISTFILE_H
#define DLC_RUNTIME_DATA_PICTURES_LISTFILE_H

#include "runtime/Data/Pictures/Plugin.h"

namespace dlc::runtime {

/// What PictureListReader says, in Plugin.h.
Result<PictureFiles> readPictureList(const std::string &path, std::span<const ListInput> inputs);

} // namespace dlc::runtime

#endif
