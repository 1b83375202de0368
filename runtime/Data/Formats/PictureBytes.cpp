// PNG files, written without a library of pictures.
#include "runtime/Data/Formats/PictureBytes.h"
#include "runtime/Core/Support.h"

#include <filesystem>
#include <zlib.h>

namespace dlc::runtime {

using namespace std::string_view_literals;

Result<std::string_view> pictureEnding(std::string_view key, std::span<const std::byte> picture) {
  const std::string_view text(reinterpret_cast<const char *>(picture.data()),
                              std::min<size_t>(picture.size(), 16));
  if (text.starts_with("\xff\xd8\xff"sv))
    return "jpg"sv;
  if (text.starts_with("\x89PNG\r\n\x1a\n"sv))
    return "png"sv;
  if (text.starts_with("RIFF"sv) && text.size() >= 12 && text.substr(8, 4) == "WEBP"sv)
    return "webp"sv;
  return invalid("'", excerpt(key), "': no JPEG, PNG or WebP");
}

Status checkPixels(std::string_view key, const RawPicture &picture) {
  const uint64_t bytes = uint64_t(picture.height) * picture.width;
  if (bytes == 0 || picture.channels == 0 || bytes > picture.pixels.size() ||
      picture.pixels.size() / bytes != picture.channels || picture.pixels.size() % bytes != 0)
    return invalid("'", excerpt(key), "': ", picture.pixels.size(), " bytes of pixels for ",
                   picture.channels, " x ", picture.height, " x ", picture.width);
  return {};
}

Status checkLabel(std::string_view key, int32_t label) {
  return label >= 0 ? Status()
                    : invalid("'", excerpt(key), "': label ", label, ", expected one from 0");
}

static void appendBigEndian(std::vector<std::byte> &out, uint64_t number) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out.push_back(static_cast<std::byte>(number >> shift));
}

static void appendChunk(std::vector<std::byte> &out, std::string_view type,
                        std::span<const std::byte> content) {
  appendBigEndian(out, content.size());
  const size_t begin = out.size();
  const auto name = std::as_bytes(std::span(type));
  out.insert(out.end(), name.begin(), name.end());
  out.insert(out.end(), content.begin(), content.end());
  appendBigEndian(
      out, crc32_z(0, reinterpret_cast<const Bytef *>(out.data() + begin), out.size() - begin));
}

Result<std::vector<std::byte>> pngOf(std::string_view key, const RawPicture &picture) {
  DLC_TRY(checkPixels(key, picture));
  const auto [channels, height, width, pixels] = picture;
  if (channels != 1 && channels != 3)
    return invalid("'", excerpt(key), "': pixels of ", channels, " channels are no PNG of 1 or 3");
  // Each row behind the number of its filter, of which 0 is none.
  std::vector<std::byte> rows;
  rows.reserve(pixels.size() + height);
  const uint64_t plane = uint64_t(height) * width;
  for (uint64_t y = 0; y < height; ++y) {
    rows.push_back(std::byte(0));
    for (uint64_t x = 0; x < width; ++x)
      for (uint64_t c = 0; c < channels; ++c)
        rows.push_back(pixels[c * plane + y * width + x]);
  }
  uLongf packedBytes = compressBound(rows.size());
  std::vector<std::byte> packed(packedBytes), out, header;
  if (compress2(reinterpret_cast<Bytef *>(packed.data()), &packedBytes,
                reinterpret_cast<const Bytef *>(rows.data()), rows.size(),
                Z_DEFAULT_COMPRESSION) != Z_OK)
    return Status::outOfMemory();
  packed.resize(packedBytes);
  const auto magic = std::as_bytes(std::span("\x89PNG\r\n\x1a\n"sv));
  out.assign(magic.begin(), magic.end());
  appendBigEndian(header, width);
  appendBigEndian(header, height);
  // Bits, kind of pixels, and nothing else.
  for (int field : {8, channels == 1 ? 0 : 2, 0, 0, 0})
    header.push_back(static_cast<std::byte>(field));
  appendChunk(out, "IHDR", header);
  appendChunk(out, "IDAT", packed);
  appendChunk(out, "IEND", {});
  return out;
}

std::string recordKey(std::string_view key) {
  std::string name(key);
  const bool isText = isPrintableUtf8(key);
  for (char &c : name)
    if (c == ' ' || c == '.' || (!isText && (c < ' ' || c == '\x7f')))
      c = '_';
  return name.empty() ? "_" : name;
}

Status makeRecordFolder(const std::string &folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return failure(StatusCode::Io, folder, ": cannot make the folder: ", error.message());
  return {};
}

} // namespace dlc::runtime
