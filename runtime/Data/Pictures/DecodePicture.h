// Any picture's bytes to its pixels. Part of libdlc_images.so.
#ifndef DLC_RUNTIME_DATA_PICTURES_DECODEPICTURE_H
#define DLC_RUNTIME_DATA_PICTURES_DECODEPICTURE_H

#include "dlc/data.h"

namespace dlc::runtime {

/// What PictureDecoder says, in Plugin.h.
Result<PictureRegion> decodePicture(std::span<const std::byte> file, uint32_t channels,
                                    const PictureChooser &choose, Picture &picture);

} // namespace dlc::runtime

#endif
