// The border to libdlc_images.so, the only thing that links libraries of pictures: a table behind
// one exported symbol. The plugin is built from the same sources as its host, so C++ may cross.
#ifndef DLC_RUNTIME_DATA_PICTURES_PLUGIN_H
#define DLC_RUNTIME_DATA_PICTURES_PLUGIN_H

#include "runtime/Data/Formats/PictureFiles.h"

namespace dlc::runtime {

/// In the place of channels: one of them, of the numbers of classes that a PNG has as indices of
/// its palette or as grey values. Fails for other pictures, whose pixels are none.
inline constexpr uint32_t classNumbers = 0;

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

/// What a list is told of an input: the numbers that a sample has there, and the channels of
/// pictures.
struct ListInput {
  std::string_view name;
  bool isWhole, isMask;
  uint64_t elements;
  uint32_t channels;
};

/// Reads a list of pictures. The number of a class is the last word of a line, as many columns as
/// the first line has the last ones: those behind its first word that ends as a picture's name, or
/// those that a line of names in front of it has. Columns feed the inputs of their names, "x" all
/// of "x.0", "x.1" and on; without names numbers go to the first input of so many, a picture to the
/// first mask. A path that does not begin with a slash is seen from the list's folder. Empty lines
/// are none.
using PictureListReader = Result<PictureFiles> (*)(const std::string &path,
                                                   std::span<const ListInput> inputs);

/// All open libdlc_images.so, and fail with Unsupported if it is not there.
Result<PictureDecoder> openPictureDecoder();
Result<PictureEncoder> openPictureEncoder();
Result<PictureListReader> openPictureListReader();

/// Changes with every change of the functions below and of what they take.
inline constexpr uint32_t imagesPluginVersion = 3;

struct ImagesPlugin {
  uint32_t version;
  PictureDecoder decode;
  PictureEncoder encode;
  PictureListReader readList;
};

using ImagesPluginQuery = const ImagesPlugin *(*)();
inline constexpr const char *imagesPluginSymbol = "dlc_images_plugin";

} // namespace dlc::runtime

#endif
