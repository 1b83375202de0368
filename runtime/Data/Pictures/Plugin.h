// The border to libdlc_images.so, the only thing that links libraries of pictures: a table behind
// one exported symbol. The plugin is built from the same sources as its host, so C++ may cross.
#ifndef DLC_RUNTIME_DATA_PICTURES_PLUGIN_H
#define DLC_RUNTIME_DATA_PICTURES_PLUGIN_H

#include "dlc/data.h"

namespace dlc::runtime {

/// The file's bytes, JPEG, PNG or WebP by how they begin, as 1 or 3 channels: from grey to colours
/// and back as Pillow does. Otherwise as Dataset::readPicture(), but that the file is not named in
/// a failure.
using PictureDecoder = Result<PictureRegion> (*)(std::span<const std::byte> file, uint32_t channels,
                                                 const PictureChooser &choose, Picture &picture);

enum class PictureFormat { Png, Jpeg };

/// A picture of 1 or 3 channels as a file: a PNG without loss, or a JPEG as Pillow writes it, of
/// `quality` 1 to 100. The same bytes each time.
using PictureEncoder = Result<std::vector<std::byte>> (*)(const Picture &picture,
                                                          PictureFormat format, int quality);

/// Both open libdlc_images.so, and fail with Unsupported if it is not there.
Result<PictureDecoder> openPictureDecoder();
Result<PictureEncoder> openPictureEncoder();

/// Changes with every change of the functions below and of what they take.
inline constexpr uint32_t imagesPluginVersion = 2;

struct ImagesPlugin {
  uint32_t version;
  PictureDecoder decode;
  PictureEncoder encode;
};

using ImagesPluginQuery = const ImagesPlugin *(*)();
inline constexpr const char *imagesPluginSymbol = "dlc_images_plugin";

} // namespace dlc::runtime

#endif
