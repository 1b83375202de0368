// Pixels to a picture's file. Part of libdlc_images.so.
#ifndef DLC_RUNTIME_DATA_PICTURES_ENCODEPICTURE_H
#define DLC_RUNTIME_DATA_PICTURES_ENCODEPICTURE_H

#include "runtime/Data/Pictures/Plugin.h"

namespace dlc::runtime {

/// What PictureEncoder says, in Plugin.h.
Result<std::vector<std::byte>> encodePicture(const Picture &picture, PictureFormat format,
                                             int quality);

} // namespace dlc::runtime

#endif
