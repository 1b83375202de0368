// PNG by libpng and JPEG by libjpeg-turbo, each into memory.
#include "runtime/Data/Pictures/EncodePicture.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Decoder.h"

#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>
#include <png.h>

namespace dlc::runtime {
namespace {

constexpr uint32_t colours = 3;

/// Appends to the file; false where there is no memory, as nothing may be thrown through C.
bool add(std::vector<std::byte> &file, const uint8_t *bytes, size_t size) {
  const auto *from = reinterpret_cast<const std::byte *>(bytes);
  return guarded([&] {
           file.insert(file.end(), from, from + size);
           return Status();
         })
      .ok();
}

/// libpng's objects that write to memory. Its errors leave attempt().
class PngWriter : public WayOut {
public:
  PngWriter() = default;
  PngWriter(const PngWriter &) = delete;
  ~PngWriter() { png_destroy_write_struct(&png, &info); }

  /// Called in attempt().
  void write(const Picture &picture) {
    png = png_create_write_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp text) {
          static_cast<PngWriter *>(png_get_error_ptr(png))->leave(text);
        },
        [](png_structp, png_const_charp) {});
    info = png ? png_create_info_struct(png) : nullptr;
    if (!info)
      leave("out of memory");
    png_set_write_fn(
        png, this,
        [](png_structp png, png_bytep bytes, size_t size) {
          auto &writer = *static_cast<PngWriter *>(png_get_io_ptr(png));
          if (!add(writer.file, bytes, size))
            writer.leave("out of memory");
        },
        [](png_structp) {});
    png_set_IHDR(png, info, picture.width, picture.height, 8,
                 picture.channels == colours ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    const uint64_t stride = uint64_t(picture.width) * picture.channels;
    for (uint64_t y = 0; y < picture.height; ++y)
      png_write_row(png, picture.bytes.data() + y * stride);
    png_write_end(png, nullptr);
  }

  std::vector<std::byte> file;

private:
  png_structp png = nullptr;
  png_infop info = nullptr;
};

/// libjpeg's object that writes to memory. Its errors leave attempt().
class JpegWriter : public WayOut {
public:
  JpegWriter() {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr info) {
      char text[JMSG_LENGTH_MAX];
      info->err->format_message(info, text);
      of(info).leave(text);
    };
    errors.output_message = [](j_common_ptr) {};
    target.init_destination = [](j_compress_ptr info) { of(info).beginPiece(); };
    target.empty_output_buffer = [](j_compress_ptr info) -> boolean {
      of(info).keep(sizeof(piece));
      of(info).beginPiece();
      return TRUE;
    };
    target.term_destination = [](j_compress_ptr info) {
      of(info).keep(sizeof(piece) - info->dest->free_in_buffer);
    };
  }
  JpegWriter(const JpegWriter &) = delete;
  ~JpegWriter() { jpeg_destroy_compress(&info); }

  /// Called in attempt().
  void write(const Picture &picture, int quality) {
    jpeg_create_compress(&info);
    info.dest = &target;
    info.image_width = picture.width;
    info.image_height = picture.height;
    info.input_components = static_cast<int>(picture.channels);
    info.in_color_space = picture.channels == colours ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    const uint64_t stride = uint64_t(picture.width) * picture.channels;
    while (info.next_scanline < info.image_height) {
      // libjpeg reads from it only.
      auto *row = const_cast<JSAMPROW>(picture.bytes.data() + info.next_scanline * stride);
      jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
  }

  bool lacksMemory() const { return errors.msg_code == JERR_OUT_OF_MEMORY; }

  std::vector<std::byte> file;

private:
  template <typename Info> static JpegWriter &of(Info *info) {
    return *static_cast<JpegWriter *>(info->client_data);
  }
  void beginPiece() {
    target.next_output_byte = piece;
    target.free_in_buffer = sizeof(piece);
  }
  void keep(size_t size) {
    if (!add(file, piece, size))
      ERREXIT1(&info, JERR_OUT_OF_MEMORY, 0);
  }

  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_destination_mgr target = {};
  uint8_t piece[1 << 14];
};

} // namespace

Result<std::vector<std::byte>> encodePicture(const Picture &picture, PictureFormat format,
                                             int quality) {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    DLC_TRY(checkPixels("a picture", picture.height, picture.width, mostPixels));
    if (format == PictureFormat::Png) {
      PngWriter png;
      if (!png.attempt([&] { png.write(picture); }))
        return failure(StatusCode::Failed, "cannot write a PNG: ", png.reason());
      return std::move(png.file);
    }
    JpegWriter jpeg;
    if (jpeg.attempt([&] { jpeg.write(picture, quality); }))
      return std::move(jpeg.file);
    return jpeg.lacksMemory() ? Status::outOfMemory()
                              : failure(StatusCode::Failed, "cannot write a JPEG: ", jpeg.reason());
  });
}

} // namespace dlc::runtime
