// JPEG by libjpeg-turbo, as Pillow sets it: the exact inverse DCT, smooth chroma, an orientation
// that EXIF names not applied. What is not needed is not decoded, and what becomes smaller by 2, 4
// or 8 comes so from the inverse DCT.
#include "runtime/Core/Support.h"
#include "runtime/Data/Pictures/Decoder.h"

#include <algorithm>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

namespace dlc::runtime {
namespace {

/// libjpeg's object that reads from memory. Its errors leave attempt(); of warnings, which it has
/// of much that others show nevertheless, it says nothing.
class JpegReader : public WayOut {
public:
  explicit JpegReader(std::span<const uint8_t> file) {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
    errors.error_exit = [](j_common_ptr info) {
      char text[JMSG_LENGTH_MAX];
      info->err->format_message(info, text);
      of(info).leave(text);
    };
    errors.emit_message = [](j_common_ptr, int) {};
    errors.output_message = [](j_common_ptr) {};
    source.next_input_byte = file.data();
    source.bytes_in_buffer = file.size();
    source.init_source = [](j_decompress_ptr) {};
    source.fill_input_buffer = [](j_decompress_ptr info) -> boolean {
      of(reinterpret_cast<j_common_ptr>(info)).leave(endsEarly);
    };
    source.skip_input_data = [](j_decompress_ptr info, long count) {
      const size_t skipped = std::min<size_t>(std::max(count, 0l), info->src->bytes_in_buffer);
      info->src->next_input_byte += skipped;
      info->src->bytes_in_buffer -= skipped;
    };
    source.resync_to_restart = jpeg_resync_to_restart;
    source.term_source = [](j_decompress_ptr) {};
    progress.progress_monitor = [](j_common_ptr info) {
      // Each of them goes over all of the picture, and may have a few bytes.
      constexpr int mostScans = 500;
      if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > mostScans)
        of(info).leave("it has more than 500 scans");
    };
  }
  JpegReader(const JpegReader &) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info); }

  /// Called in attempt().
  void readHeader() {
    jpeg_create_decompress(&info);
    info.src = &source;
    info.progress = &progress;
    jpeg_read_header(&info, TRUE);
  }

  jpeg_decompress_struct info = {};

private:
  static JpegReader &of(j_common_ptr info) { return *static_cast<JpegReader *>(info->client_data); }

  jpeg_error_mgr errors = {};
  jpeg_source_mgr source = {};
  jpeg_progress_mgr progress = {};
};

/// The colours to be decoded to; none for what libjpeg knows no colours of.
J_COLOR_SPACE coloursFor(const jpeg_decompress_struct &info, uint32_t channels) {
  switch (info.jpeg_color_space) {
  case JCS_GRAYSCALE:
    return channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  case JCS_RGB:
  case JCS_YCbCr:
    return JCS_RGB;
  case JCS_CMYK:
  case JCS_YCCK:
    return JCS_CMYK;
  default:
    return JCS_UNKNOWN;
  }
}

/// A decoded row to the picture's colours. `rgb` is room for a row between them.
void convertRow(const uint8_t *row, uint32_t components, std::vector<uint8_t> &rgb, uint32_t width,
                uint32_t channels, uint8_t *to) {
  if (components == 4 && channels == 3)
    return rgbOf(row, width, to);
  if (components == 4) {
    rgbOf(row, width, rgb.data());
    row = rgb.data();
  }
  greyOf(row, width, to);
}

} // namespace

Result<PictureRegion> decodeJpeg(std::span<const uint8_t> file, uint32_t channels,
                                 const PictureChooser &choose, Picture &picture) {
  JpegReader reader(file);
  jpeg_decompress_struct &info = reader.info;
  auto failed = [&] {
    return info.err->msg_code == JERR_OUT_OF_MEMORY ? Status::outOfMemory()
                                                    : damagedPicture("JPEG", reader.reason());
  };
  // Of several scans all are read first; an arithmetic code may need next to no bits.
  bool isHeld = false;
  if (!reader.attempt([&] {
        reader.readHeader();
        isHeld = info.arith_code || jpeg_has_multiple_scans(&info);
      }))
    return failed();
  const uint32_t height = info.image_height, width = info.image_width;
  DLC_TRY(checkPixels(isHeld ? "a progressive JPEG" : "a JPEG", height, width,
                      isHeld ? mostPixelsHeld : mostPixels));
  // Huffman's codes have at least a bit: of an 8 x 8 block one for its mean, one for the rest.
  if (!isHeld && uint64_t(height) * width / 256 > file.size())
    return claimsTooMuch("JPEG", height, width, file.size());
  info.out_color_space = coloursFor(info, channels);
  if (info.out_color_space == JCS_UNKNOWN)
    return unsupported("a JPEG of ", info.num_components, " components, expected 1, 3 or 4");

  const PictureRequest request = choose(height, width);
  // libjpeg-turbo before 3.0 leaves colours undefined where a part of a picture that has a sample
  // of them for 4 x 2 or 2 x 4 pixels is made smaller.
  const uint32_t factor =
      info.max_h_samp_factor * info.max_v_samp_factor > 4 ? 1 : factorFor(request);
  info.scale_num = 1;
  info.scale_denom = factor;
  PictureRegion region = request.region;
  for (double *part : {&region.top, &region.left, &region.height, &region.width})
    *part /= factor;
  // Smooth chroma has a sample of its neighbours in each.
  constexpr uint32_t margin = 2;
  Window window = {};
  JDIMENSION left = 0, columns = 0;
  if (!reader.attempt([&] {
        jpeg_start_decompress(&info);
        window = windowOf(region, info.output_height, info.output_width, margin);
        left = window.left;
        columns = window.width;
        jpeg_crop_scanline(&info, &left, &columns);
      }))
    return failed();

  const uint32_t components = static_cast<uint32_t>(info.output_components);
  setSize(picture, window.height, info.output_width, channels);
  const uint64_t stride = uint64_t(picture.width) * channels;
  std::vector<uint8_t> decoded, rgb;
  if (components != channels)
    decoded.resize(uint64_t(picture.width) * components);
  if (components == 4 && channels == 1)
    rgb.resize(uint64_t(picture.width) * 3);
  if (!reader.attempt([&] {
        if (window.top != 0)
          jpeg_skip_scanlines(&info, window.top);
        for (uint32_t row = 0; row < picture.height;) {
          uint8_t *to = picture.bytes.data() + row * stride;
          JSAMPROW place = decoded.empty() ? to : decoded.data();
          const JDIMENSION rows = jpeg_read_scanlines(&info, &place, 1);
          if (rows == 1 && !decoded.empty())
            convertRow(decoded.data(), components, rgb, picture.width, channels, to);
          row += rows;
        }
      }))
    return failed();
  return PictureRegion{region.top - window.top, region.left - left, region.height, region.width};
}

} // namespace dlc::runtime
