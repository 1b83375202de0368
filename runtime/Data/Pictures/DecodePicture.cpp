// Which decoder a file is for.
#include "runtime/Data/Pictures/DecodePicture.h"
#include "runtime/Core/FileKind.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Decoder.h"
#include "runtime/Data/Pictures/Plugin.h"

#include <algorithm>

namespace dlc::runtime {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view begin, then;
  size_t thenAt;
  Result<PictureRegion> (*decode)(std::span<const uint8_t> file, uint32_t channels,
                                  const PictureChooser &choose, Picture &picture);
};

constexpr Format formats[] = {{"\xff\xd8\xff"sv, ""sv, 0, decodeJpeg},
                              {"\x89PNG\r\n\x1a\n"sv, ""sv, 0, decodePng},
                              {"RIFF"sv, "WEBP"sv, 8, decodeWebP}};

} // namespace

Result<PictureRegion> decodePicture(std::span<const std::byte> file, uint32_t channels,
                                    const PictureChooser &choose, Picture &picture) {
  return guarded([&]() -> Result<PictureRegion> {
    const std::span bytes(reinterpret_cast<const uint8_t *>(file.data()), file.size());
    const std::span begin = file.first(std::min(file.size(), fileKindBytes));
    const std::string_view text(reinterpret_cast<const char *>(begin.data()), begin.size());
    for (const Format &format : formats)
      if (text.starts_with(format.begin) && text.size() >= format.thenAt &&
          text.substr(format.thenAt).starts_with(format.then)) {
        if (channels == classNumbers && format.decode != decodePng)
          return damaged("is no PNG, in which alone numbers of classes stay what they are");
        return format.decode(bytes, channels, choose, picture);
      }
    const std::string_view kind = fileKind(begin);
    return damaged(file.empty()   ? "is empty"
                   : kind.empty() ? "is no picture"
                                  : concat("is ", kind),
                   ", expected JPEG, PNG or WebP");
  });
}

} // namespace dlc::runtime
