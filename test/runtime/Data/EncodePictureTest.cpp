// Pictures that are written, held against their pixels.
#include "runtime/Data/Pictures/EncodePicture.h"
#include "runtime/Data/Pictures/DecodePicture.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::runtime;

namespace {

/// Slopes, which a JPEG keeps well, with something of its own in each channel.
Picture slopes(uint32_t height, uint32_t width, uint32_t channels) {
  Picture picture{height, width, channels};
  for (uint32_t y = 0; y < height; ++y)
    for (uint32_t x = 0; x < width; ++x)
      for (uint32_t c = 0; c < channels; ++c)
        picture.bytes.push_back(static_cast<uint8_t>((y * (c + 1) + x * 2 + c * 40) % 256));
  return picture;
}

std::vector<std::byte> encode(const Picture &picture, PictureFormat format, int quality = 95) {
  auto file = encodePicture(picture, format, quality);
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? file.take() : std::vector<std::byte>();
}

Picture decode(const std::vector<std::byte> &file, uint32_t channels) {
  Picture picture;
  const auto region = decodePicture(
      file, channels,
      [](uint32_t height, uint32_t width) {
        return PictureRequest{{0, 0, double(height), double(width)}, height, width};
      },
      picture);
  EXPECT_TRUE(region.ok()) << region.status().message();
  return picture;
}

double meanDistance(const Picture &a, const Picture &b) {
  double sum = 0;
  for (size_t i = 0; i < a.bytes.size(); ++i)
    sum += std::abs(int(a.bytes[i]) - int(b.bytes[i]));
  return sum / static_cast<double>(a.bytes.size());
}

// All sizes, as rows of PNG have filters and padding and JPEG has blocks.
TEST(EncodePicture, KeepsPixels) {
  for (const uint32_t channels : {1u, 3u})
    for (const auto &[height, width] : {std::pair{1u, 1u}, {1u, 300u}, {29u, 37u}, {200u, 3u}}) {
      const Picture picture = slopes(height, width, channels);
      const std::vector<std::byte> png = encode(picture, PictureFormat::Png);
      EXPECT_TRUE(decode(png, channels).bytes == picture.bytes);
      EXPECT_EQ(png, encode(picture, PictureFormat::Png));
      const std::vector<std::byte> jpeg = encode(picture, PictureFormat::Jpeg);
      const Picture seen = decode(jpeg, channels);
      ASSERT_EQ(seen.height, height);
      ASSERT_EQ(seen.width, width);
      EXPECT_LT(meanDistance(seen, picture), 12);
      EXPECT_EQ(jpeg, encode(picture, PictureFormat::Jpeg));
    }
}

// Larger than the piece that libjpeg is given at a time; a better quality is larger and nearer.
TEST(EncodePicture, WritesAsWellAsItIsAsked) {
  const Picture picture = slopes(300, 400, 3);
  size_t bytes = 0;
  double distance = 256;
  for (const int quality : {5, 50, 95}) {
    const std::vector<std::byte> file = encode(picture, PictureFormat::Jpeg, quality);
    EXPECT_GT(file.size(), bytes);
    bytes = file.size();
    const double found = meanDistance(decode(file, 3), picture);
    EXPECT_LT(found, distance);
    distance = found;
  }
  EXPECT_GT(bytes, size_t(1) << 14);
}

TEST(EncodePicture, RefusesWhatIsNoPicture) {
  EXPECT_EQ(encodePicture(Picture(), PictureFormat::Png, 95).status().message(),
            "a picture of 0 x 0 pixels, expected at most 268435456");
  // libjpeg has 16 bits for a side.
  const Picture wide = slopes(1, 70000, 1);
  EXPECT_EQ(encodePicture(wide, PictureFormat::Jpeg, 95).status().code(), StatusCode::Failed);
  EXPECT_TRUE(encodePicture(wide, PictureFormat::Png, 95).ok());
}

} // namespace
