// Resampling against Pillow's own pictures, which Inputs/make_pillow.py wrote.
#include "runtime/Data/Augment/Cut.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace dlc::runtime;

namespace {

/// As in make_pillow.py.
uint8_t byteOf(uint32_t y, uint32_t x, uint32_t c) {
  return static_cast<uint8_t>(((y * 73856093u ^ x * 19349663u ^ c * 83492791u) * 2654435761u) >>
                              24);
}

struct Golden {
  Filter filter;
  uint32_t channels, height, width, top, left, bottom, right, rows, columns, keptTop, keptLeft,
      keptBottom, keptRight;
  std::vector<uint8_t> bytes;

  std::vector<uint8_t> picture() const {
    std::vector<uint8_t> all;
    for (uint32_t y = 0; y < height; ++y)
      for (uint32_t x = 0; x < width; ++x)
        for (uint32_t c = 0; c < channels; ++c)
          all.push_back(byteOf(y, x, c));
    return all;
  }
  /// Of rows or columns.
  static CutAxis axis(uint32_t begin, uint32_t end, uint32_t made, uint32_t kept,
                      uint32_t keptEnd) {
    const double scale = double(end - begin) / made;
    return {begin + kept * scale, (keptEnd - kept) * scale, begin, end, keptEnd - kept};
  }
  CutAxis rowAxis() const { return axis(top, bottom, rows, keptTop, keptBottom); }
  CutAxis columnAxis() const { return axis(left, right, columns, keptLeft, keptRight); }
  uint8_t at(size_t c, size_t y, size_t x) const {
    return bytes[(y * (keptRight - keptLeft) + x) * channels + c];
  }
};

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  std::ifstream file(DLC_TEST_INPUTS "/pillow.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#'))
      continue;
    std::istringstream words(line);
    std::string filter, hex;
    Golden g = {};
    words >> filter >> g.channels >> g.height >> g.width >> g.top >> g.left >> g.bottom >>
        g.right >> g.rows >> g.columns >> g.keptTop >> g.keptLeft >> g.keptBottom >> g.keptRight >>
        hex;
    g.filter = filter == "bicubic" ? Filter::Bicubic : Filter::Bilinear;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
      g.bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    all.push_back(std::move(g));
  }
  return all;
}

/// Channel behind channel.
std::vector<uint8_t> planesOf(const std::vector<uint8_t> &picture, size_t channels) {
  std::vector<uint8_t> planes(picture.size());
  for (size_t i = 0; i < picture.size(); ++i)
    planes[i % channels * (picture.size() / channels) + i / channels] = picture[i];
  return planes;
}

// Bytes are Pillow's, to the bit, from pixels and from planes.
TEST(Resample, IsPillows) {
  const std::vector<Golden> all = goldens();
  ASSERT_EQ(all.size(), 44u);
  Resampler<uint8_t> resampler;
  for (const Golden &g : all) {
    const std::vector<uint8_t> picture = g.picture(), planes = planesOf(picture, g.channels);
    const size_t plane = g.height * g.width;
    const Planes<uint8_t> sources[] = {
        {picture.data(), g.channels, g.height, g.width, 1, g.width * g.channels, g.channels},
        {planes.data(), g.channels, g.height, g.width, plane, g.width, 1}};
    const CutAxis rows = g.rowAxis(), columns = g.columnAxis();
    for (const Planes<uint8_t> &source : sources) {
      std::vector<uint8_t> made(g.bytes.size());
      resampler.run(source, rows, columns, g.filter, made.data());
      EXPECT_EQ(made, planesOf(g.bytes, g.channels))
          << g.height << " x " << g.width << " to " << g.rows << " x " << g.columns;
    }
  }
}

// Floats are the same numbers without rounding: each of the two passes of bytes is off by half a
// level at most. (Bicubic passes of bytes cut off what overshoots, too.)
TEST(Resample, OfFloatsDoesNotRound) {
  Resampler<float> resampler;
  for (const Golden &g : goldens()) {
    if (g.filter == Filter::Bicubic)
      continue;
    const std::vector<uint8_t> picture = g.picture();
    const std::vector<float> numbers(picture.begin(), picture.end());
    std::vector<float> made(g.bytes.size());
    resampler.run(
        {numbers.data(), g.channels, g.height, g.width, 1, g.width * g.channels, g.channels},
        g.rowAxis(), g.columnAxis(), g.filter, made.data());
    const std::vector<uint8_t> expected = planesOf(g.bytes, g.channels);
    for (size_t i = 0; i < made.size(); ++i)
      ASSERT_NEAR(made[i], expected[i], 1.001);
  }
}

// A cut in the middle of what was resized, as Pillow makes both: 60 x 45 by its shorter side to
// 16, of which 12 x 12 stay; and cuts by chance see nothing beside their part.
TEST(Resample, KnowsWhatACutReads) {
  const TransformList list = parseAugmentation("resize:16:bicubic,center-crop:12")->train;
  const Cut cut = cutOf(list, 0, {0, 0, 0}, 60, 45);
  EXPECT_EQ(cut.transforms, 2u);
  const std::vector<Golden> all = goldens();
  const Golden &g = *std::ranges::find_if(all, [](const Golden &each) {
    return each.filter == Filter::Bicubic && each.channels == 3 && each.height == 60;
  });
  EXPECT_EQ(g.rowAxis().begin, cut.rows.begin);
  EXPECT_EQ(g.rowAxis().length, cut.rows.length);
  EXPECT_EQ(g.columnAxis().begin, cut.columns.begin);
  EXPECT_EQ(g.columnAxis().length, cut.columns.length);

  // What is asked for is enough: the rest of the picture is another one, and the bytes are equal.
  const PictureRequest request = requestOf(cut);
  EXPECT_GT(request.region.top, 0);
  EXPECT_LT(request.region.top + request.region.height, 60);
  EXPECT_EQ(request.height, std::ceil(request.region.height * 12 / cut.rows.length));
  Picture part = {.height = uint32_t(request.region.height),
                  .width = uint32_t(request.region.width),
                  .channels = 3};
  for (uint32_t y = 0; y < part.height; ++y)
    for (uint32_t x = 0; x < part.width; ++x)
      for (uint32_t c = 0; c < 3; ++c)
        part.bytes.push_back(
            byteOf(uint32_t(request.region.top) + y, uint32_t(request.region.left) + x, c));
  const Cut decoded =
      decodedCut(cut, request, {0, 0, double(part.height), double(part.width)}, part);
  std::vector<uint8_t> made(g.bytes.size());
  Resampler<uint8_t> resampler;
  resampler.run({part.bytes.data(), 3, part.height, part.width, 1, part.width * 3, 3}, decoded.rows,
                decoded.columns, Filter::Bicubic, made.data());
  EXPECT_EQ(made, planesOf(g.bytes, 3));
}

// Of a picture so tall that what lies between the passes goes in bands, each row is as if it were
// made alone.
TEST(Resample, GoesInBands) {
  constexpr uint32_t height = 30000, width = 4;
  std::vector<uint8_t> picture(size_t(height) * width * 3);
  for (size_t i = 0; i < picture.size(); ++i)
    picture[i] = byteOf(uint32_t(i / (3 * width)), uint32_t(i / 3 % width), uint32_t(i % 3));
  const std::vector<float> numbers(picture.begin(), picture.end());
  auto expectAlike = [&](auto resampler, const auto &image) {
    using Number = std::decay_t<decltype(image[0])>;
    const Planes<Number> source = {image.data(), 3, height, width, 1, width * 3, 3};
    const CutAxis rows = {0, height, 0, height, 100}, columns = {0, width, 0, width, 200};
    std::vector<Number> made(3 * 100 * 200), alone(3 * 200);
    resampler.run(source, rows, columns, Filter::Bicubic, made.data());
    for (uint32_t y : {0u, 1u, 20u, 21u, 22u, 23u, 50u, 98u, 99u}) {
      const CutAxis row = {300.0 * y, 300, 0, height, 1};
      resampler.run(source, row, columns, Filter::Bicubic, alone.data());
      for (size_t plane = 0; plane < 3; ++plane)
        for (size_t x = 0; x < 200; ++x)
          ASSERT_EQ(made[(plane * 100 + y) * 200 + x], alone[plane * 200 + x]) << y << " " << x;
    }
  };
  expectAlike(Resampler<uint8_t>(), picture);
  expectAlike(Resampler<float>(), numbers);
}

} // namespace
