// What writers of records have in common: pictures as the bytes of a file, and how samples are
// called.
#ifndef DLC_RUNTIME_DATA_FORMATS_PICTUREBYTES_H
#define DLC_RUNTIME_DATA_FORMATS_PICTUREBYTES_H

#include "runtime/Data/Formats/RecordWriter.h"

#include <vector>

namespace dlc::runtime {

/// How a file of such bytes ends: jpg, png or webp. Fails with InvalidArgument for others.
Result<std::string_view> pictureEnding(std::string_view key, std::span<const std::byte> picture);

/// The bytes of a PNG of 1 or 3 channels. Fails with InvalidArgument for other channels, and where
/// there are not as many pixels as the picture says.
Result<std::vector<std::byte>> pngOf(std::string_view key, const RawPicture &picture);

/// Fails with InvalidArgument unless there are as many pixels as the picture says.
Status checkPixels(std::string_view key, const RawPicture &picture);
/// And for labels below 0.
Status checkLabel(std::string_view key, int32_t label);

/// A key that is the same to all that read it: blanks, dots, control characters and what is no
/// UTF-8 become '_'.
std::string recordKey(std::string_view key);

/// Makes a folder if there is none.
Status makeRecordFolder(const std::string &folder);

} // namespace dlc::runtime

#endif
