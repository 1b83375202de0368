// Decoders of pictures, held against what Pillow makes of the same files: Inputs/pictures/make.py.
#include "runtime/Data/Pictures/DecodePicture.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

std::string inputPath(std::string_view name) {
  return std::string(DLC_TEST_INPUTS "/pictures/") + std::string(name);
}

std::vector<std::byte> input(std::string_view name) { return readFile(inputPath(name)); }

/// All of a picture, as large as it is.
PictureRequest everything(uint32_t height, uint32_t width) {
  return {{0, 0, double(height), double(width)}, height, width};
}

struct Decoded {
  Picture picture;
  PictureRegion region;
};

Decoded decode(const std::vector<std::byte> &file, uint32_t channels,
               const PictureChooser &choose = everything) {
  Decoded decoded;
  Result<PictureRegion> region = decodePicture(file, channels, choose, decoded.picture);
  EXPECT_TRUE(region.ok()) << region.status().message();
  if (region.ok())
    decoded.region = *region;
  EXPECT_EQ(decoded.picture.channels, channels);
  EXPECT_EQ(decoded.picture.bytes.size(),
            uint64_t(decoded.picture.height) * decoded.picture.width * channels);
  return decoded;
}

/// What is said of these bytes; "decoded" if they are a picture.
std::string messageFor(const std::vector<std::byte> &file, uint32_t channels = 3) {
  Picture picture;
  const Result<PictureRegion> region = decodePicture(file, channels, everything, picture);
  return region.ok() ? "decoded" : std::string(region.status().message());
}

std::vector<std::byte> bytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A file of netpbm's, as Pillow writes it: a line of its kind, one of width and height, "255".
Picture readNetpbm(const std::string &name, uint32_t channels) {
  const std::vector<std::byte> file = input(name);
  std::string text(reinterpret_cast<const char *>(file.data()), file.size());
  Picture picture;
  picture.channels = channels;
  int headerBytes = 0;
  EXPECT_EQ(
      std::sscanf(text.c_str(), "P%*d %u %u 255%n", &picture.width, &picture.height, &headerBytes),
      2);
  for (char c : text.substr(headerBytes + 1))
    picture.bytes.push_back(static_cast<uint8_t>(c));
  return picture;
}

constexpr const char *smallPictures[] = {"colours.jpg",
                                         "colours-422.jpg",
                                         "colours-444.jpg",
                                         "progressive.jpg",
                                         "grey.jpg",
                                         "cmyk.jpg",
                                         "turned.jpg",
                                         "colours.png",
                                         "grey.png",
                                         "black.png",
                                         "palette.png",
                                         "palette-alpha.png",
                                         "alpha.png",
                                         "grey-alpha.png",
                                         "interlaced.png",
                                         "grey-2.png",
                                         "grey-4-interlaced.png",
                                         "colours-16.png",
                                         "grey-16.png",
                                         "lossy.webp",
                                         "lossless.webp",
                                         "alpha.webp"};

constexpr const char *largePictures[] = {
    "large.jpg",      "large-422.jpg",      "large-444.jpg", "large-progressive.jpg",
    "large-grey.jpg", "large-cmyk.jpg",     "large.png",     "large-interlaced.png",
    "large.webp",     "large-lossless.webp"};

/// Of a file of libjpeg's, which decodes whole blocks.
bool isJpeg(std::string_view name) { return name.ends_with(".jpg"); }

// Each kind of each format, as three channels and as one, to the bit.
TEST(Pictures, AreThoseOfPillow) {
  for (const char *name : smallPictures) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> file = input(name);
    for (uint32_t channels : {1u, 3u}) {
      const Picture expected =
          readNetpbm(std::string(name) + (channels == 1 ? ".pgm" : ".ppm"), channels);
      const Picture picture = decode(file, channels).picture;
      ASSERT_EQ(picture.height, expected.height);
      ASSERT_EQ(picture.width, expected.width);
      ASSERT_EQ(expected.bytes.size(), picture.bytes.size());
      EXPECT_TRUE(picture.bytes == expected.bytes) << channels << " channels";
    }
  }
}

// The part that is asked for has the pixels that it has in the whole, and not much is around it.
TEST(Pictures, PartsAreThoseOfTheWhole) {
  std::mt19937 random(1);
  for (const char *name : largePictures) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> file = input(name);
    for (uint32_t channels : {1u, 3u}) {
      const Picture whole = decode(file, channels).picture;
      for (int round = 0; round < 60; ++round) {
        auto part = [&](uint32_t extent) {
          const double size = 1 + (extent - 1) * std::pow(random() / double(random.max()), 2);
          const double begin = (extent - size) * (random() / double(random.max()));
          return round % 2 ? std::pair(std::floor(begin), std::floor(size))
                           : std::pair(begin, size);
        };
        const auto [top, height] = part(whole.height);
        const auto [left, width] = part(whole.width);
        SCOPED_TRACE(testing::Message() << top << "+" << height << ", " << left << "+" << width);
        const auto [picture, region] = decode(file, channels, [&](uint32_t, uint32_t) {
          return PictureRequest{{top, left, height, width}, whole.height, whole.width};
        });
        EXPECT_EQ(region.height, height);
        EXPECT_EQ(region.width, width);
        // Where the decoded part begins, in the whole.
        const auto shiftDown = static_cast<uint32_t>(std::lround(top - region.top)),
                   shiftRight = static_cast<uint32_t>(std::lround(left - region.left));
        EXPECT_DOUBLE_EQ(shiftDown + region.top, top);
        EXPECT_DOUBLE_EQ(shiftRight + region.left, left);
        EXPECT_LE(picture.height, std::ceil(height) + 1 + 5);
        EXPECT_LE(picture.width, std::ceil(width) + 1 + (isJpeg(name) ? 16 + 4 : 5));
        const auto bottom = static_cast<uint32_t>(std::ceil(region.top + height)),
                   right = static_cast<uint32_t>(std::ceil(region.left + width));
        ASSERT_LE(bottom, picture.height);
        ASSERT_LE(right, picture.width);
        for (auto y = static_cast<uint32_t>(region.top); y < bottom; ++y)
          for (auto x = static_cast<uint32_t>(region.left); x < right; ++x)
            for (uint32_t c = 0; c < channels; ++c)
              ASSERT_EQ(
                  picture.bytes[(y * picture.width + x) * channels + c],
                  whole.bytes[((y + shiftDown) * whole.width + x + shiftRight) * channels + c])
                  << "row " << y << ", column " << x << ", channel " << c;
      }
    }
  }
}

/// The mean of a part of a grey picture, whose borders may lie within pixels.
double meanOf(const Picture &picture, double top, double left, double height, double width) {
  auto shareOf = [](uint32_t pixel, double begin, double size) {
    return std::min(pixel + 1.0, begin + size) - std::max<double>(pixel, begin);
  };
  double sum = 0;
  for (auto y = uint32_t(top); y < std::min<double>(picture.height, top + height); ++y)
    for (auto x = uint32_t(left); x < std::min<double>(picture.width, left + width); ++x)
      sum +=
          picture.bytes[y * picture.width + x] * shareOf(y, top, height) * shareOf(x, left, width);
  return sum / (height * width);
}

// What becomes smaller anyway is decoded smaller by the largest factor that leaves enough, where
// the format can; each pixel is near the mean of those that it stands for.
TEST(Pictures, BecomeSmaller) {
  for (const char *name : largePictures) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> file = input(name);
    const Picture whole = decode(file, 1).picture;
    for (uint32_t factor : {2u, 4u, 8u}) {
      SCOPED_TRACE(factor);
      const auto [picture, region] = decode(file, 1, [&](uint32_t height, uint32_t width) {
        return PictureRequest{
            {0, 0, double(height), double(width)}, height / factor, width / factor};
      });
      EXPECT_EQ(region.top, 0);
      EXPECT_EQ(region.left, 0);
      if (std::string_view(name).ends_with(".png")) {
        EXPECT_EQ(picture.height, whole.height);
        EXPECT_EQ(picture.width, whole.width);
        continue;
      }
      EXPECT_EQ(picture.height, (whole.height + factor - 1) / factor);
      EXPECT_EQ(picture.width, (whole.width + factor - 1) / factor);
      if (isJpeg(name)) {
        EXPECT_EQ(region.height, double(whole.height) / factor);
        EXPECT_EQ(region.width, double(whole.width) / factor);
      }
      const double down = whole.height / region.height, across = whole.width / region.width;
      double sum = 0, count = 0;
      for (uint32_t y = 0; y + 1 <= region.height; ++y)
        for (uint32_t x = 0; x + 1 <= region.width; ++x, ++count)
          sum += std::fabs(picture.bytes[y * picture.width + x] -
                           meanOf(whole, y * down, x * across, down, across));
      // A part of the inverse DCT is no exact mean, and colours that come in fewer samples than
      // brightness give some grey.
      EXPECT_LE(sum / count, 2.0);
    }
  }
}

// A part that becomes smaller has its colours where a sample of them is for 4 x 2 pixels, too:
// those of the whole, whatever lay in memory before.
TEST(Pictures, HaveTheirColoursWithFewSamples) {
  const std::vector<std::byte> file = input("wide-410.jpg");
  const Picture whole = decode(file, 3).picture;
  const auto [picture, region] = decode(file, 3, [](uint32_t height, uint32_t width) {
    return PictureRequest{{0, width / 2.0, double(height), width / 2.0}, height / 4, width / 8};
  });
  const double factor = whole.height / double(picture.height);
  const auto shift = static_cast<uint32_t>(std::lround(whole.width / 2.0 / factor - region.left));
  double sum = 0, count = 0;
  for (uint32_t y = 0; y < picture.height; ++y)
    for (auto x = static_cast<uint32_t>(region.left); x < picture.width; ++x)
      for (uint32_t c = 0; c < 3; ++c, ++count) {
        const auto row = static_cast<uint32_t>(y * factor),
                   column = static_cast<uint32_t>((x + shift) * factor);
        sum += std::abs(picture.bytes[(y * picture.width + x) * 3 + c] -
                        whole.bytes[(row * whole.width + column) * 3 + c]);
      }
  EXPECT_LE(sum / count, 10);
}

// A part may be smaller too; whatever is asked for, as many rows and columns are left.
TEST(Pictures, KeepAsManyRowsAndColumnsAsAskedFor) {
  std::mt19937 random(2);
  for (const char *name : largePictures) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> file = input(name);
    for (int round = 0; round < 40; ++round) {
      PictureRequest request;
      const auto [picture, region] = decode(file, 3, [&](uint32_t height, uint32_t width) {
        auto upTo = [&](double most) { return most * (random() / double(random.max())); };
        PictureRegion part{upTo(height / 2.0), upTo(width / 2.0), 0, 0};
        part.height = 1 + upTo(height / 2.0 - 1);
        part.width = 1 + upTo(width / 2.0 - 1);
        request = {part, 1 + uint32_t(upTo(50)), 1 + uint32_t(upTo(50))};
        return request;
      });
      constexpr double rounding = 1e-9;
      EXPECT_GE(region.height + rounding, std::min<double>(request.height, request.region.height));
      EXPECT_GE(region.width + rounding, std::min<double>(request.width, request.region.width));
      EXPECT_GE(region.top, 0);
      EXPECT_GE(region.left, 0);
      EXPECT_LE(region.top + region.height, picture.height + rounding);
      EXPECT_LE(region.left + region.width, picture.width + rounding);
    }
  }
}

// A picture that is used again for a smaller one has nothing of the larger.
TEST(Pictures, MayBeUsedAgain) {
  Picture picture;
  for (const char *name : {"large.jpg", "grey.jpg", "colours.png"}) {
    ASSERT_TRUE(decodePicture(input(name), 3, everything, picture).ok());
    EXPECT_TRUE(picture.bytes == decode(input(name), 3).picture.bytes);
  }
}

// What a file is, its first bytes say.
TEST(Pictures, SayWhatIsNone) {
  EXPECT_EQ(messageFor({}), "is empty, expected JPEG, PNG or WebP");
  EXPECT_EQ(messageFor(bytesOf("a cat")), "is text, expected JPEG, PNG or WebP");
  EXPECT_EQ(messageFor(bytesOf("GIF89a\1\1")), "is a picture (GIF), expected JPEG, PNG or WebP");
  EXPECT_EQ(messageFor(bytesOf(std::string(20, '\1'))),
            "is no picture, expected JPEG, PNG or WebP");
  EXPECT_EQ(messageFor(bytesOf("RIFF\1\1\1\1WAVE\1\1")),
            "is no picture, expected JPEG, PNG or WebP");
}

// A file that ends early is an error, at whichever byte; what lies behind the last pixel may lack.
TEST(Pictures, MustNotEndEarly) {
  for (const char *name : smallPictures) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> file = input(name);
    for (size_t size = 12; size < file.size() * 9 / 10; size += 7) {
      const std::string message = messageFor({file.begin(), file.begin() + size});
      EXPECT_TRUE(message.starts_with("damaged ")) << size << ": " << message;
    }
  }
  const std::vector<std::byte> file = input("large.jpg");
  EXPECT_EQ(messageFor({file.begin(), file.begin() + file.size() / 2}),
            "damaged JPEG: it ends too early");
  const std::vector<std::byte> png = input("large.png");
  EXPECT_EQ(messageFor({png.begin(), png.begin() + png.size() / 2}),
            "damaged PNG: it ends too early");
  const std::vector<std::byte> webp = input("large.webp");
  EXPECT_EQ(messageFor({webp.begin(), webp.begin() + webp.size() / 2}),
            "damaged WebP: it ends too early");
}

// The decoder says what is wrong in its own words.
TEST(Pictures, SayWhatIsDamaged) {
  std::vector<std::byte> png = input("colours.png");
  constexpr size_t headerSum = 29;
  png[headerSum] ^= std::byte(1);
  EXPECT_EQ(messageFor(png), "damaged PNG: IHDR: CRC error");
  std::vector<std::byte> jpeg = input("grey.jpg");
  const auto startOfFrame = std::ranges::search(jpeg, bytesOf("\xff\xc0")).begin();
  startOfFrame[4] = std::byte(12);
  EXPECT_EQ(messageFor(jpeg), "damaged JPEG: Unsupported JPEG data precision 12");
  EXPECT_EQ(messageFor(bytesOf("\xff\xd8\xff\xd9")),
            "damaged JPEG: JPEG datastream contains no image");
}

/// Big-endian.
void put(std::byte *at, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    at[i] = std::byte(value >> (8 * (bytes - 1 - i)));
}

uint32_t crcOf(std::span<const std::byte> bytes) {
  uint32_t crc = ~0u;
  for (std::byte byte : bytes) {
    crc ^= std::to_integer<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// A few bytes may claim any number of pixels: no memory is taken for them.
TEST(Pictures, AreBounded) {
  auto pngOf = [](uint32_t width, uint32_t height, const char *name) {
    std::vector<std::byte> png = input(name);
    put(&png[16], width, 4);
    put(&png[20], height, 4);
    put(&png[29], crcOf(std::span(png).subspan(12, 17)), 4);
    return png;
  };
  EXPECT_EQ(messageFor(pngOf(40000, 25000, "colours.png")),
            "a PNG of 40000 x 25000 pixels, expected at most 268435456");
  EXPECT_EQ(messageFor(pngOf(10000, 10000, "interlaced.png")),
            "an interlaced PNG of 10000 x 10000 pixels, expected at most 67108864");
  EXPECT_EQ(messageFor(pngOf(16000, 16000, "colours.png")),
            "damaged PNG: it claims 16000 x 16000 pixels and has " +
                std::to_string(input("colours.png").size()) + " bytes");
  EXPECT_EQ(messageFor(pngOf(2000000000, 1, "colours.png")), "damaged PNG: Invalid IHDR data");
  auto jpegOf = [](uint32_t width, uint32_t height, const char *name, const char *marker) {
    std::vector<std::byte> jpeg = input(name);
    const auto frame = std::ranges::search(jpeg, bytesOf(marker)).begin();
    put(&frame[5], height, 2);
    put(&frame[7], width, 2);
    return jpeg;
  };
  EXPECT_EQ(messageFor(jpegOf(65000, 65000, "colours.jpg", "\xff\xc0")),
            "a JPEG of 65000 x 65000 pixels, expected at most 268435456");
  EXPECT_EQ(messageFor(jpegOf(16000, 16000, "progressive.jpg", "\xff\xc2")),
            "a progressive JPEG of 16000 x 16000 pixels, expected at most 67108864");
  EXPECT_EQ(messageFor(jpegOf(16000, 16000, "grey.jpg", "\xff\xc0")),
            "damaged JPEG: it claims 16000 x 16000 pixels and has " +
                std::to_string(input("grey.jpg").size()) + " bytes");
}

// Scans that hold nothing, each of which goes over the whole picture.
TEST(Pictures, HaveFewScans) {
  const std::vector<std::byte> file = input("progressive.jpg");
  const std::vector<std::byte> marker = bytesOf("\xff\xda");
  const auto last = std::ranges::find_end(file, marker).begin();
  std::vector<std::byte> bomb(file.begin(), last);
  for (int scan = 0; scan < 1000; ++scan)
    bomb.insert(bomb.end(), last, file.end() - 2);
  EXPECT_EQ(messageFor(bomb), "damaged JPEG: it has more than 500 scans");
}

// Whatever is changed in a file, there is a picture or one line that says why not.
TEST(Pictures, TakeAnyBytes) {
  std::mt19937 random(3);
  for (const char *name : smallPictures) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> file = input(name);
    for (int round = 0; round < 150; ++round) {
      std::vector<std::byte> changed = file;
      for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
        changed[round % 3 ? random() % changed.size()
                          : random() % std::min<size_t>(changed.size(), 64)] = std::byte(random());
      Picture picture;
      const Result<PictureRegion> region = decodePicture(
          changed, round % 2 ? 1 : 3,
          [](uint32_t height, uint32_t width) {
            return PictureRequest{{height / 3.0, width / 3.0, height / 2.0, width / 2.0},
                                  std::min(height, 10u),
                                  std::min(width, 10u)};
          },
          picture);
      if (!region.ok()) {
        EXPECT_FALSE(region.status().message().empty());
      }
    }
  }
}

// What the chooser throws comes back as a status.
TEST(Pictures, LetTheChooserFail) {
  for (const char *name : {"colours.jpg", "colours.png", "lossy.webp"}) {
    Picture picture;
    const Result<PictureRegion> region = decodePicture(
        input(name), 3, [](uint32_t, uint32_t) -> PictureRequest { throw std::bad_alloc(); },
        picture);
    EXPECT_EQ(region.status().code(), StatusCode::OutOfMemory);
  }
}

} // namespace
