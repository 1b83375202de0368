// Each transform by its definition; and that what is drawn depends on nothing but seed, epoch,
// sample and the transform's number.
#include "runtime/Data/Augment/Augmenter.h"
#include "runtime/Core/Philox.h"
#include "runtime/Data/Augment/Colours.h"
#include "runtime/Data/BatchLoader.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <numbers>
#include <numeric>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

template <typename Number> constexpr dlc_dtype dtypeOf = DLC_F32;
template <> constexpr dlc_dtype dtypeOf<uint8_t> = DLC_U8;
template <> constexpr dlc_dtype dtypeOf<double> = DLC_F64;
template <> constexpr dlc_dtype dtypeOf<int32_t> = DLC_I32;
template <> constexpr dlc_dtype dtypeOf<int64_t> = DLC_I64;

/// What a list makes of an image for an input.
template <typename To, typename From>
std::vector<To> made(std::string_view list, const std::vector<From> &image, uint64_t planes,
                     Sides sides, uint32_t sample = 0, Sides *after = nullptr) {
  MappedInput mapped = {};
  mapped.from = dtypeOf<From>;
  mapped.to = dtypeOf<To>;
  Augmenter augmenter;
  augmenter.take(reinterpret_cast<const std::byte *>(image.data()), planes, sides, mapped);
  const Status ran = augmenter.run(listOf(list), 0, {7, 3, sample});
  EXPECT_TRUE(ran.ok()) << ran.message();
  const Sides now = augmenter.sides();
  if (after)
    *after = now;
  mapped.elements = planes * now.height * now.width;
  std::vector<To> all(mapped.elements);
  augmenter.write(reinterpret_cast<std::byte *>(all.data()));
  return all;
}

/// 1, 2, 3, ...
template <typename Number> std::vector<Number> counted(size_t count) {
  std::vector<Number> all(count);
  std::iota(all.begin(), all.end(), Number(1));
  return all;
}

/// Numbers from 0 to 1 without an order.
std::vector<float> mixed(size_t count) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = static_cast<float>(philox(1, {uint32_t(i), 0, 0, 0})[0] * 0x1p-32);
  return all;
}

// ---------------------------------------------------------------------------------------------
// Moves

// Each place of a crop comes equally often on each side: 250 of 4,500 times, give or take six
// standard deviations of 15.4.
TEST(Augmenter, DrawsEachPlace) {
  std::map<std::vector<int32_t>, int> counts;
  for (uint32_t sample = 0; sample < 18 * 250; ++sample)
    ++counts[made<int32_t>("crop:1,flip", counted<int32_t>(9), 1, {3, 3}, sample)];
  ASSERT_EQ(counts.size(), 18u);
  for (const auto &[image, count] : counts)
    EXPECT_NEAR(count, 250, 6 * 15.4);
}

// The words of crop and flip are those of counter (sample, 0, epoch, hash of "augment"), whatever
// else is in the list: so they were before there was a list.
TEST(Augmenter, DrawsMovesAsEver) {
  for (uint32_t sample = 0; sample < 50; ++sample) {
    const PhiloxWords words = philox(7, {sample, 0, 3, hashName("augment")});
    const int64_t down = int64_t(words[0] * 9ull >> 32) - 4,
                  right = int64_t(words[1] * 9ull >> 32) - 4;
    const std::vector<float> image = counted<float>(2 * 6 * 5);
    std::vector<float> expected;
    for (int64_t plane = 0; plane < 2; ++plane)
      for (int64_t y = 0; y < 6; ++y)
        for (int64_t x = 0; x < 5; ++x) {
          const int64_t row = y + down, column = (words[2] >> 31 ? 4 - x : x) + right;
          const bool inside = row >= 0 && row < 6 && column >= 0 && column < 5;
          expected.push_back(inside ? image[size_t((plane * 6 + row) * 5 + column)] : 0);
        }
    EXPECT_EQ(made<float>("crop:4,flip", image, 2, {6, 5}, sample), expected);
    EXPECT_EQ(made<float>("center-crop:6x5,crop:4,flip", image, 2, {6, 5}, sample), expected);
  }
}

// Two planes of 3 x 4 numbers, against the padded image of He et al.
TEST(Augmenter, MovesAndMirrors) {
  constexpr int64_t planes = 2, height = 3, width = 4, pad = 2;
  std::vector<uint16_t> image = counted<uint16_t>(planes * height * width), placed(image.size());
  for (int64_t down = -pad; down <= pad; ++down)
    for (int64_t right = -pad; right <= pad; ++right)
      for (bool mirrored : {false, true}) {
        placeImage({down, right, mirrored, height, width},
                   {planes, height, width, sizeof(uint16_t)},
                   std::as_bytes(std::span(image)).data(),
                   std::as_writable_bytes(std::span(placed)).data());
        std::vector<uint16_t> expected;
        for (int64_t plane = 0; plane < planes; ++plane) {
          std::vector<std::vector<uint16_t>> padded(height + 2 * pad,
                                                    std::vector<uint16_t>(width + 2 * pad));
          for (int64_t y = 0; y < height; ++y)
            for (int64_t x = 0; x < width; ++x)
              padded[size_t(y + pad)][size_t(x + pad)] =
                  image[size_t((plane * height + y) * width + x)];
          for (int64_t y = 0; y < height; ++y) {
            const auto row = padded[size_t(y + pad + down)].begin() + pad + right;
            std::vector<uint16_t> line(row, row + width);
            if (mirrored)
              std::ranges::reverse(line);
            expected.insert(expected.end(), line.begin(), line.end());
          }
        }
        ASSERT_EQ(placed, expected) << down << " " << right << " " << mirrored;
      }
}

// Halves are rounded to even numbers, as torchvision's are; what is smaller has zeros around it,
// one more at the end where they are odd.
TEST(Augmenter, TakesTheMiddle) {
  Sides sides;
  const auto image = counted<uint8_t>(7 * 5);
  EXPECT_EQ(made<uint8_t>("center-crop:3x4", image, 1, {7, 5}, 0, &sides),
            (std::vector<uint8_t>{11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24}));
  EXPECT_EQ(sides, (Sides{3, 4}));
  EXPECT_EQ(made<uint8_t>("center-crop:3x2", counted<uint8_t>(5), 1, {1, 5}),
            (std::vector<uint8_t>{0, 0, 3, 4, 0, 0}));
  EXPECT_EQ(made<uint8_t>("center-crop:4", counted<uint8_t>(1), 1, {1, 1}),
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

// Numbers that are only moved stay what they are, in each type.
TEST(Augmenter, KeepsWhatItMoves) {
  const std::vector<int64_t> whole = {INT64_MIN, INT64_MAX, (int64_t(1) << 53) + 1, -1, 0, 5};
  const std::vector<double> real = {1e-300, 1.0 / 3, 3e300, -0.1, 5, 6};
  for (uint32_t sample = 0; sample < 8; ++sample) {
    auto moved = made<int64_t>("flip,center-crop:2x3", whole, 1, {2, 3}, sample);
    std::ranges::sort(moved);
    EXPECT_EQ(moved[5], INT64_MAX);
    EXPECT_EQ(moved[4], (int64_t(1) << 53) + 1);
    auto reals = made<double>("flip", real, 1, {2, 3}, sample);
    std::ranges::sort(reals);
    auto expected = real;
    std::ranges::sort(expected);
    EXPECT_EQ(reals, expected);
  }
  // Bytes become the same floats as without a list.
  std::vector<uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), uint8_t(0));
  const std::vector<float> floats = made<float>("center-crop:16", bytes, 1, {16, 16});
  for (size_t i = 0; i < 256; ++i)
    EXPECT_EQ(floats[i], float(i) * (1 / 255.0f));
}

// A quarter of a turn moves pixels; of others a plane stays a plane.
TEST(Augmenter, Rotates) {
  constexpr size_t side = 5;
  const std::vector<float> image = mixed(side * side);
  const ImageShape shape = {1, side, side, sizeof(float)};
  std::vector<float> turned(image.size());
  rotateImage(90, shape, image.data(), turned.data());
  for (size_t y = 0; y < side; ++y)
    for (size_t x = 0; x < side; ++x)
      EXPECT_NEAR(turned[(side - 1 - x) * side + y], image[y * side + x], 1e-6);
  rotateImage(0, shape, image.data(), turned.data());
  EXPECT_EQ(turned, image);
  const auto pixels = counted<int64_t>(side * side);
  std::vector<int64_t> moved(pixels.size());
  rotatePixels(180, {1, side, side, sizeof(int64_t)}, std::as_bytes(std::span(pixels)).data(),
               std::as_writable_bytes(std::span(moved)).data());
  EXPECT_TRUE(std::ranges::equal(moved, std::vector<int64_t>(pixels.rbegin(), pixels.rend())));

  constexpr size_t large = 31;
  std::vector<uint8_t> ramp(large * large), ramped(ramp.size());
  auto height = [](double y, double x) { return 100 + 3 * (y - 15) + 2 * (x - 15); };
  for (size_t y = 0; y < large; ++y)
    for (size_t x = 0; x < large; ++x)
      ramp[y * large + x] = uint8_t(height(double(y), double(x)));
  const double angle = 25 * std::numbers::pi / 180;
  rotateImage(25, {1, large, large, 1}, ramp.data(), ramped.data());
  for (int y = 6; y < 25; ++y)
    for (int x = 6; x < 25; ++x)
      EXPECT_NEAR(ramped[size_t(y) * large + size_t(x)],
                  height(15 + std::sin(angle) * (x - 15) + std::cos(angle) * (y - 15),
                         15 + std::cos(angle) * (x - 15) - std::sin(angle) * (y - 15)),
                  0.501);
  EXPECT_EQ(ramped[0], 0);
}

// Angles are drawn from both sides.
TEST(Augmenter, RotatesByChance) {
  std::vector<float> dot(33 * 33);
  dot[16 * 33 + 32] = 1;
  int above = 0;
  for (uint32_t sample = 0; sample < 400; ++sample) {
    const auto turned = made<float>("rotate:20", dot, 1, {33, 33}, sample);
    const size_t at = size_t(std::ranges::max_element(turned) - turned.begin());
    // 16 sin 20 degrees: 5.5 rows.
    EXPECT_NEAR(double(at / 33), 16, 5.5);
    above += at / 33 < 16;
  }
  // Of 16 rows' heights a row around the middle is neither.
  EXPECT_NEAR(above, 182, 6 * 10);
}

// ---------------------------------------------------------------------------------------------
// Parts by chance

// Areas and aspects are uniform, the latter in their logarithm, where none of them is too large:
// means of 4,000 draws are off by six of their standard deviations at most.
TEST(Augmenter, CutsByChance) {
  const TransformList list = listOf("random-resized-crop:8x6:area=0.1-0.4:aspect=0.5-2");
  constexpr int draws = 4000;
  constexpr uint32_t side = 1000;
  double area = 0, aspect = 0, top = 0, left = 0;
  for (uint32_t sample = 0; sample < draws; ++sample) {
    const Cut cut = cutOf(list, 0, {5, 1, sample}, side, side);
    ASSERT_EQ(cut.transforms, 1u);
    EXPECT_EQ(cut.rows.size, 8u);
    EXPECT_EQ(cut.columns.size, 6u);
    const double part = cut.rows.length * cut.columns.length / side / side,
                 ratio = cut.columns.length / cut.rows.length;
    // Sides of 224 and more are rounded to whole pixels.
    EXPECT_GE(part, 0.1 * 0.995);
    EXPECT_LE(part, 0.4 * 1.005);
    EXPECT_GE(ratio, 0.5 * 0.995);
    EXPECT_LE(ratio, 2 * 1.005);
    EXPECT_EQ(cut.rows.first, cut.rows.begin);
    EXPECT_EQ(cut.rows.end, cut.rows.begin + cut.rows.length);
    EXPECT_LE(cut.rows.end, side);
    EXPECT_LE(cut.columns.end, side);
    area += part;
    aspect += std::log(ratio);
    top += cut.rows.begin / (side - cut.rows.length);
    left += cut.columns.begin / (side - cut.columns.length);
  }
  const double error = 6 / std::sqrt(12.0 * draws);
  EXPECT_NEAR(area / draws, 0.25, 0.3 * error);
  EXPECT_NEAR(aspect / draws, 0, std::log(4) * error);
  EXPECT_NEAR(top / draws, 0.5, error);
  EXPECT_NEAR(left / draws, 0.5, error);
}

// Where ten of them are too long, the largest one in the middle.
TEST(Augmenter, CutsTheMiddleOfStrips) {
  const TransformList list = listOf("random-resized-crop:8");
  const Cut wide = cutOf(list, 0, {5, 1, 0}, 9, 1000), tall = cutOf(list, 0, {5, 1, 0}, 1000, 9);
  EXPECT_EQ(wide.columns.begin, (1000 - 12) / 2);
  EXPECT_EQ(wide.columns.length, 12);
  EXPECT_EQ(wide.rows.length, 9);
  EXPECT_EQ(tall.rows.begin, (1000 - 12) / 2);
  EXPECT_EQ(tall.rows.length, 12);
  EXPECT_EQ(tall.columns.length, 9);
}

// By the shorter side, the longer one cut off to a whole number.
TEST(Augmenter, ResizesByTheShorterSide) {
  Sides sides;
  made<float>("resize:16", std::vector<uint8_t>(37 * 50), 1, {37, 50}, 0, &sides);
  EXPECT_EQ(sides, (Sides{16, 21}));
  made<float>("resize:16", std::vector<uint8_t>(50 * 37), 1, {50, 37}, 0, &sides);
  EXPECT_EQ(sides, (Sides{21, 16}));
  made<float>("resize:6x5", std::vector<uint8_t>(50 * 37), 1, {50, 37}, 0, &sides);
  EXPECT_EQ(sides, (Sides{6, 5}));
  // Bytes and floats go the same way, up to the roundings of bytes.
  std::vector<uint8_t> bytes;
  for (float x : mixed(3 * 20 * 20))
    bytes.push_back(uint8_t(x * 255));
  const std::vector<float> numbers(bytes.begin(), bytes.end());
  const auto ofBytes = made<uint8_t>("resize:7x30", bytes, 3, {20, 20});
  const auto ofNumbers = made<float>("resize:7x30", numbers, 3, {20, 20});
  for (size_t i = 0; i < ofBytes.size(); ++i)
    EXPECT_NEAR(ofBytes[i], ofNumbers[i], 1.001);
}

// A side that is too long is an error, not a want of memory.
TEST(Augmenter, RefusesLongStrips) {
  MappedInput mapped = {};
  mapped.from = DLC_U8;
  mapped.to = DLC_F32;
  const std::vector<std::byte> strip(100000);
  Augmenter augmenter;
  augmenter.take(strip.data(), 1, {1, 100000}, mapped);
  EXPECT_EQ(augmenter.run(listOf("resize:256"), 0, {0, 0, 0}).message(),
            "`augment` makes 256 x 25600000 pixels of an image of 1 x 100000");
}

// Whole numbers are of classes: whole pixels are taken, and values stay.
TEST(Augmenter, KeepsClasses) {
  const std::vector<int32_t> image = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(made<int32_t>("resize:1x2", image, 1, {2, 4}), (std::vector<int32_t>{6, 8}));
  EXPECT_EQ(
      made<int32_t>("colour-jitter:brightness=1,normalise:mean=9:std=2,cutout:9", image, 1, {2, 4}),
      image);
  for (int32_t x : made<int32_t>("rotate:45", image, 1, {2, 4}))
    EXPECT_TRUE(x >= 0 && x <= 8);
}

// ---------------------------------------------------------------------------------------------
// Values

TEST(Augmenter, ChangesColours) {
  constexpr size_t pixels = 20;
  const std::vector<float> image = mixed(3 * pixels);
  auto grey = [&](size_t i) {
    return 0.2989 * image[i] + 0.587 * image[pixels + i] + 0.114 * image[2 * pixels + i];
  };
  double mean = 0;
  for (size_t i = 0; i < pixels; ++i)
    mean += grey(i) / pixels;
  for (float factor : {0.0f, 0.6f, 1.0f, 1.4f}) {
    auto bright = image, contrast = image, saturated = image;
    changeBrightness(bright, factor);
    changeContrast(contrast, 3, factor);
    changeSaturation(saturated, 3, factor);
    for (size_t i = 0; i < image.size(); ++i) {
      auto blended = [&](double other) {
        return std::clamp(factor * image[i] + (1 - factor) * other, 0.0, 1.0);
      };
      EXPECT_NEAR(bright[i], blended(0), 1e-6);
      EXPECT_NEAR(contrast[i], blended(mean), 1e-6);
      EXPECT_NEAR(saturated[i], blended(grey(i % pixels)), 1e-6);
    }
  }
  std::vector<float> one = {0.2f, 0.4f};
  changeContrast(one, 1, 0.5f);
  EXPECT_NEAR(one[0], 0.25, 1e-6);
  changeSaturation(one, 1, 0.5f);
  changeHue(one, 1, 0.5f);
  EXPECT_NEAR(one[1], 0.35, 1e-6);
}

// A third of a turn makes red green, green blue and blue red; half a turn is its own inverse; grey
// stays, and so do the largest and the smallest number of a pixel.
TEST(Augmenter, TurnsHues) {
  constexpr size_t pixels = 50;
  const std::vector<float> image = mixed(3 * pixels);
  std::vector<float> third = image, half = image, some = image;
  changeHue(third, 3, 1.0f / 3);
  for (size_t i = 0; i < image.size(); ++i)
    EXPECT_NEAR(third[(i + pixels) % image.size()], image[i], 2e-6);
  changeHue(half, 3, 0.5f);
  changeHue(half, 3, 0.5f);
  changeHue(some, 3, -0.13f);
  for (size_t i = 0; i < pixels; ++i) {
    EXPECT_NEAR(half[i], image[i], 2e-6);
    auto extremes = [&](const std::vector<float> &of) {
      return std::minmax({of[i], of[pixels + i], of[2 * pixels + i]});
    };
    EXPECT_NEAR(extremes(some).first, extremes(image).first, 2e-6);
    EXPECT_NEAR(extremes(some).second, extremes(image).second, 2e-6);
  }
  std::vector<float> grey = {0.3f, 0.3f, 0.3f}, none = {NAN, 0.2f, 0.4f};
  changeHue(grey, 3, 0.2f);
  EXPECT_EQ(grey, (std::vector<float>{0.3f, 0.3f, 0.3f}));
  changeHue(none, 3, 0.2f);
}

// Of one grey pixel contrast and saturation change nothing, so what remains is the factor of the
// brightness: uniform from 0.6 to 1.4.
TEST(Augmenter, JittersByChance) {
  double sum = 0, least = 2, most = 0;
  constexpr int draws = 2000;
  for (uint32_t sample = 0; sample < draws; ++sample) {
    const auto pixel =
        made<float>("colour-jitter:brightness=0.4:contrast=0.4:saturation=0.4:hue=0.1",
                    std::vector<float>{0.5f, 0.5f, 0.5f}, 3, {1, 1}, sample);
    EXPECT_NEAR(pixel[0], pixel[2], 1e-3);
    const double factor = pixel[0] * 2;
    sum += factor;
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  EXPECT_NEAR(sum / draws, 1, 6 * 0.8 / std::sqrt(12.0 * draws));
  EXPECT_NEAR(least, 0.6, 0.01);
  EXPECT_NEAR(most, 1.4, 0.01);
}

// The noise of AlexNet along each axis, and how far it goes by chance.
TEST(Augmenter, AddsPrincipalNoise) {
  const double axes[3][3] = {{-0.5675, -0.5808, -0.5836},
                             {0.7192, -0.0045, -0.6948},
                             {0.4009, -0.8140, 0.4203}},
               values[3] = {0.2175, 0.0188, 0.0045};
  for (size_t axis = 0; axis < 3; ++axis) {
    std::vector<float> image(6, 0.5f);
    double normal[3] = {};
    normal[axis] = 0.1;
    addPrincipalNoise(normal, image);
    for (size_t i = 0; i < image.size(); ++i)
      EXPECT_NEAR(image[i], 0.5 + 0.1 * values[axis] * axes[axis][i / 2], 1e-6);
  }
  double sum = 0, squares = 0, variance = 0;
  for (size_t axis = 0; axis < 3; ++axis)
    variance += std::pow(0.1 * values[axis] * axes[axis][0], 2);
  constexpr int draws = 4000;
  for (uint32_t sample = 0; sample < draws; ++sample) {
    const double red = made<float>("pca:0.1", std::vector<float>(3), 3, {1, 1}, sample)[0];
    sum += red;
    squares += red * red;
  }
  EXPECT_NEAR(sum / draws, 0, 6 * std::sqrt(variance / draws));
  // The square of a normal number has a deviation of sqrt(2) of its mean.
  EXPECT_NEAR(squares / draws / variance, 1, 6 * std::sqrt(2.0 / draws));
}

// A square around any pixel, cut off at the border.
TEST(Augmenter, CutsOut) {
  std::map<std::pair<size_t, size_t>, int> middles;
  constexpr size_t height = 6, width = 5;
  for (uint32_t sample = 0; sample < 3000; ++sample) {
    const auto image = made<float>("cutout:3", std::vector<float>(2 * height * width, 1), 2,
                                   {height, width}, sample);
    size_t rows = 0, columns = 0, top = height, left = width;
    for (size_t y = 0; y < height; ++y)
      for (size_t x = 0; x < width; ++x)
        if (image[y * width + x] == 0) {
          EXPECT_EQ(image[(height + y) * width + x], 0);
          rows = std::max(rows, y + 1);
          columns = std::max(columns, x + 1);
          top = std::min(top, y);
          left = std::min(left, x);
        }
    EXPECT_EQ(std::ranges::count(image, 0.0f), 2 * int64_t((rows - top) * (columns - left)));
    ++middles[{top == 0 ? rows - 2 : top + 1, left == 0 ? columns - 2 : left + 1}];
  }
  ASSERT_EQ(middles.size(), height * width);
  for (const auto &[middle, count] : middles)
    EXPECT_NEAR(count, 100, 60);
}

TEST(Augmenter, Normalises) {
  const auto byPlane = made<float>("normalise:mean=0.5/0.25:std=0.5/2",
                                   std::vector<uint8_t>{0, 255, 51, 255}, 2, {1, 2});
  EXPECT_EQ(byPlane, (std::vector<float>{-1, 1, (51 * (1 / 255.0f) - 0.25f) / 2, 0.375f}));
  EXPECT_EQ(made<double>("normalise:mean=1:std=2", std::vector<double>{1, 5}, 2, {1, 1}),
            (std::vector<double>{0, 2}));
}

// Bytes for an input of bytes are rounded once, behind all that is computed.
TEST(Augmenter, MakesBytesOfFloats) {
  const std::vector<uint8_t> grey = {0, 100, 200, 255};
  const auto bright = made<float>("colour-jitter:brightness=0.4", grey, 1, {2, 2});
  const auto bytes = made<uint8_t>("colour-jitter:brightness=0.4", grey, 1, {2, 2});
  for (size_t i = 0; i < grey.size(); ++i)
    EXPECT_EQ(bytes[i], std::nearbyint(bright[i] * 255));
  EXPECT_NE(bytes, grey);
}

// ---------------------------------------------------------------------------------------------
// In batches

/// The images of a pass, by their samples' numbers.
using Images = std::map<uint32_t, std::vector<std::byte>>;

void add(Images &images, const EntryInfo &entry, const std::shared_ptr<const Dataset> &data,
         const TransformList &list, const Pass &pass, Shard shard = {},
         const LoadOptions &options = {}) {
  auto created = BatchLoader::create(entry, data, shard, options, list);
  ASSERT_TRUE(created.ok()) << created.status().message();
  ASSERT_TRUE((*created)->start(pass).ok());
  const size_t bytes = entry.inputs[0].type.logicalBytes() / entry.batch;
  for (;;) {
    Result<const Batch *> batch = (*created)->next();
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    if (!*batch)
      return;
    for (size_t i = 0; i < (*batch)->samples.size(); ++i) {
      const auto image = (*batch)->inputs[0].subspan(i * bytes, bytes);
      images[(*batch)->samples[i]].assign(image.begin(), image.end());
    }
  }
}

struct Loading {
  TemporaryFolder folder;
  std::shared_ptr<const Dataset> data;
  Loading() {
    writeSmallData(folder.root(), 48, 1);
    data = openDataset("idx:" + folder.root(), Split::Train).take();
  }

  void add(Images &images, const Pass &pass, Shard shard = {},
           std::string_view list = "crop:1,flip,rotate:30") {
    const uint64_t batch = 8 / shard.ranks;
    const EntryInfo entry = entryWith({inputOf("image", DLC_F32, {batch, 1, 4, 4})}, batch);
    ::add(images, entry, data, listOf(list), pass, shard);
  }

  std::string refusal(std::vector<uint64_t> image, std::string_view list,
                      dlc_dtype dtype = DLC_F32) {
    const EntryInfo entry = entryWith({inputOf("image", dtype, std::move(image))}, 8);
    return std::string(BatchLoader::create(entry, data, {}, {}, listOf(list)).status().message());
  }
};

// Four ranks see the images that one sees, a pass that begins in the middle those of a whole one;
// another epoch and another seed have others.
TEST(Augmentation, DependsOnTheSampleAlone) {
  Loading loading;
  const Pass pass = {.seed = 5, .epoch = 2, .firstBatch = 0, .keepPartial = false};
  Images whole, ranks, rest, nextEpoch, otherSeed, files;
  loading.add(whole, pass);
  ASSERT_EQ(whole.size(), 48u);
  for (unsigned rank = 0; rank < 4; ++rank)
    loading.add(ranks, pass, {.rank = rank, .ranks = 4, .even = true});
  EXPECT_EQ(ranks, whole);
  loading.add(rest, {.seed = 5, .epoch = 2, .firstBatch = 4, .keepPartial = false});
  EXPECT_EQ(rest.size(), 16u);
  for (const auto &[sample, image] : rest)
    EXPECT_EQ(image, whole[sample]);
  loading.add(nextEpoch, {.seed = 5, .epoch = 3, .firstBatch = 0, .keepPartial = false});
  loading.add(otherSeed, {.seed = 6, .epoch = 2, .firstBatch = 0, .keepPartial = false});
  EXPECT_NE(nextEpoch, whole);
  EXPECT_NE(otherSeed, whole);
  loading.add(files, pass, {}, "");
  EXPECT_NE(whole, files);
}

TEST(Augmentation, RefusesWhatIsNoImage) {
  Loading loading;
  EXPECT_EQ(loading.refusal({8, 16}, "crop:1"),
            "`augment`: entry 'e' takes no images, which are inputs "
            "[N, planes, height, width]");
  EXPECT_EQ(loading.refusal({8, 4, 4}, "crop:1"),
            "`augment`: input 'image' is f32[8, 4, 4], which is not moved as images "
            "[N, planes, height, width] are");
  EXPECT_EQ(loading.refusal({8, 1, 4, 4}, "crop:4"),
            "`augment`: crop:4 is as large as the images of input 'image', f32[8, 1, 4, 4]");
  EXPECT_EQ(loading.refusal({8, 1, 4, 4}, "pca:0.1"),
            "`augment`: 'pca:0.1' is for images of three planes, input 'image' is f32[8, 1, 4, 4]");
  EXPECT_EQ(loading.refusal({8, 1, 4, 4}, "normalise:mean=1/2/3:std=1"),
            "`augment`: 'normalise:mean=1/2/3:std=1' has numbers for 3 planes, input 'image' is "
            "f32[8, 1, 4, 4]");
  EXPECT_EQ(loading.refusal({8, 1, 4, 4}, "normalise:mean=123:std=58"),
            "`augment`: 'normalise:mean=123:std=58' has a mean of 123, which is 0.482 as bytes "
            "count from 0 to 1, input 'image' is f32[8, 1, 4, 4]");
  EXPECT_EQ(loading.refusal({8, 1, 4, 4}, "normalise:mean=1:std=1", DLC_U8),
            "`augment`: 'normalise:mean=1:std=1' makes other numbers than bytes, input 'image' is "
            "u8[8, 1, 4, 4]");
  EXPECT_EQ(loading.refusal({8, 1, 4, 4}, "center-crop:3"),
            "`augment`: the list makes images of 3 x 3, input 'image' is f32[8, 1, 4, 4]");
  EXPECT_EQ(loading.refusal({8, 1, 3, 3}, "center-crop:3"), "");
  EXPECT_EQ(loading.refusal({8, 16}, ""), "");
}

/// Pictures of noise, each of a size of its own; and labels.
struct Album : Dataset {
  std::string title = "album";
  std::vector<DatasetField> columns = {
      {.kind = FieldKind::Image,
       .dtype = DLC_U8,
       .shape = {3, 0, 0},
       .file = title,
       .pictures = true},
      {.kind = FieldKind::Label, .dtype = DLC_I32, .shape = {}, .file = title}};
  std::vector<int32_t> labels = std::vector<int32_t>(24, 1);
  mutable std::atomic<int> halved = 0;
  /// Leaves out what is not needed; says what is not so, asks nothing; and has slopes instead of
  /// noise, at half the size where that is enough.
  bool cuts = false, lies = false, named = false, slopes = false, halves = false,
       asksNothing = false;

  const std::string &name() const override { return title; }
  uint64_t size() const override { return 24; }
  const std::vector<DatasetField> &fields() const override { return columns; }
  const std::byte *sample(uint64_t index, size_t field) const override {
    return field == 1 ? reinterpret_cast<const std::byte *>(&labels[index]) : nullptr;
  }
  static Sides sidesOf(uint64_t index) {
    return {40 + uint32_t(index) % 7, 50 + uint32_t(index) % 5};
  }
  static uint8_t byteAt(uint64_t index, uint32_t y, uint32_t x, uint32_t c) {
    return uint8_t(philox(index, {y, x, c, 0})[0]);
  }
  /// Means of up to 2 x 2 pixels of a slope.
  static void halve(const Sides &sides, Picture &picture) {
    auto mean = [](uint32_t i, uint32_t all) { return 2 * i + (2 * i + 1 < all ? 0.5 : 0); };
    picture = {(sides.height + 1) / 2, (sides.width + 1) / 2, 3};
    for (uint32_t y = 0; y < picture.height; ++y)
      for (uint32_t x = 0; x < picture.width; ++x)
        for (uint32_t c = 0; c < 3; ++c)
          picture.bytes.push_back(
              uint8_t(2 * mean(y, sides.height) + 2 * mean(x, sides.width) + 5 * c + 0.5));
  }
  Result<PictureRegion> readPicture(uint64_t index, size_t, const PictureChooser &choose,
                                    Picture &picture) const override {
    const Sides sides = sidesOf(index);
    if (asksNothing) {
      picture = {.height = 2, .width = 2, .channels = 3, .bytes = std::vector<uint8_t>(12)};
      return PictureRegion{0, 0, 2, 2};
    }
    const PictureRequest request = choose(sides.height, sides.width);
    const PictureRegion &region = request.region;
    if (halves && region.height >= 2 * request.height && region.width >= 2 * request.width) {
      halve(sides, picture);
      ++halved;
      return PictureRegion{region.top / 2, region.left / 2, region.height / 2, region.width / 2};
    }
    const bool part = cuts && region.top == std::floor(region.top);
    const auto top = part ? uint32_t(region.top) : 0, left = part ? uint32_t(region.left) : 0;
    picture.height = part ? uint32_t(region.height) : sides.height;
    picture.width = part ? uint32_t(region.width) : sides.width;
    picture.channels = lies ? 4 : 3;
    if (named)
      picture.file = "album/" + std::to_string(index) + ".png";
    picture.bytes.clear();
    for (uint32_t y = 0; y < picture.height; ++y)
      for (uint32_t x = 0; x < picture.width; ++x)
        for (uint32_t c = 0; c < 3; ++c)
          picture.bytes.push_back(slopes ? uint8_t(2 * (top + y) + 2 * (left + x) + 5 * c)
                                         : byteAt(index, top + y, left + x, c));
    return PictureRegion{region.top - top, region.left - left, region.height, region.width};
  }
};

const EntryInfo &albumEntry() {
  static const EntryInfo entry =
      entryWith({inputOf("image", DLC_F32, {4, 3, 16, 12}), inputOf("label", DLC_I32, {4})}, 4);
  return entry;
}

constexpr std::string_view ofTraining = "random-resized-crop:16x12:bicubic,flip,"
                                        "colour-jitter:brightness=0.4:hue=0.1,pca:0.1,"
                                        "normalise:mean=0.485/0.456/0.406:std=0.229",
                           ofEvaluation = "test:resize:20,center-crop:16x12";

// Pictures are the same batches for any number of workers and ranks, and behind a restart; and a
// decoder that leaves out what is not needed changes nothing.
TEST(Pictures, DependOnTheSampleAlone) {
  for (const TransformList &list :
       {listOf(ofTraining), listOf(ofEvaluation, Split::Test), listOf("flip,resize:16x12")}) {
    auto data = std::make_shared<Album>(), thrifty = std::make_shared<Album>();
    thrifty->cuts = true;
    const Pass pass = {.seed = 5, .epoch = 2};
    Images whole;
    add(whole, albumEntry(), data, list, pass, {}, {.workers = 1});
    ASSERT_EQ(whole.size(), 24u);
    for (unsigned workers : {2u, 5u}) {
      Images again, parts;
      add(again, albumEntry(), data, list, pass, {}, {.workers = workers});
      EXPECT_EQ(again, whole);
      add(parts, albumEntry(), thrifty, list, pass, {}, {.workers = workers});
      EXPECT_EQ(parts, whole);
    }
    Images ranks, rest;
    for (unsigned rank = 0; rank < 3; ++rank)
      add(ranks, albumEntry(), data, list, pass, {.rank = rank, .ranks = 3, .even = true});
    EXPECT_EQ(ranks, whole);
    add(rest, albumEntry(), data, list, {.seed = 5, .epoch = 2, .firstBatch = 4});
    EXPECT_EQ(rest.size(), 8u);
    for (const auto &[sample, image] : rest)
      EXPECT_EQ(image, whole[sample]);
  }
}

// Behind the decoder a picture goes the way of an array of its planes.
TEST(Pictures, AreWhatArraysAre) {
  auto data = std::make_shared<Album>();
  for (std::string_view text : {ofTraining, std::string_view("resize:20,center-crop:16x12"),
                                std::string_view("flip,crop:3,resize:16x12")}) {
    const TransformList list = listOf(text);
    Images images;
    add(images, albumEntry(), data, list, {.seed = 7, .epoch = 3});
    for (const auto &[sample, image] : images) {
      const Sides sides = Album::sidesOf(sample);
      std::vector<uint8_t> planes;
      for (uint32_t c = 0; c < 3; ++c)
        for (uint32_t y = 0; y < sides.height; ++y)
          for (uint32_t x = 0; x < sides.width; ++x)
            planes.push_back(Album::byteAt(sample, y, x, c));
      const std::vector<float> expected = made<float>(text, planes, 3, sides, sample);
      std::vector<float> found(expected.size());
      ASSERT_EQ(image.size(), expected.size() * sizeof(float));
      std::memcpy(found.data(), image.data(), image.size());
      EXPECT_EQ(found, expected) << text << " " << sample;
    }
  }
}

// A picture that was decoded at half its size becomes the same, up to two roundings and what
// filters make of the border.
TEST(Pictures, AreDecodedSmaller) {
  auto whole = std::make_shared<Album>(), smaller = std::make_shared<Album>();
  whole->slopes = smaller->slopes = smaller->halves = true;
  for (const TransformList &list :
       {listOf("resize:18,center-crop:16x12"), listOf("random-resized-crop:16x12:area=0.9-1"),
        listOf("resize:16x12:bicubic")}) {
    Images expected, found;
    add(expected, albumEntry(), whole, list, {.seed = 7});
    add(found, albumEntry(), smaller, list, {.seed = 7});
    double most = 0;
    for (const auto &[sample, image] : expected)
      for (size_t i = 0; i < image.size(); i += sizeof(float)) {
        float a, b;
        std::memcpy(&a, &image[i], sizeof(a));
        std::memcpy(&b, &found[sample][i], sizeof(b));
        most = std::max(most, std::fabs(double(a) - b) * 255);
      }
    EXPECT_LE(most, 3);
  }
  EXPECT_GT(smaller->halved, 24);
}

// One that does not become what the input takes is an error that says what does.
TEST(Pictures, MustFit) {
  auto data = std::make_shared<Album>();
  auto refusal = [&](const TransformList &list, const EntryInfo &entry = albumEntry()) {
    auto created = BatchLoader::create(entry, data, {}, {}, list);
    if (!created.ok())
      return std::string(created.status().message());
    EXPECT_TRUE((*created)->start({.seed = {}}).ok());
    return std::string((*created)->next().status().message());
  };
  EXPECT_EQ(refusal(listOf("")),
            "album: sample 0 is a picture of 40 x 50, input 'image' takes f32[4, 3, 16, 12]; "
            "`augment` 'random-resized-crop:16x12' makes it fit");
  EXPECT_EQ(refusal(listOf("resize:12", Split::Test)),
            "album: sample 0 is a picture of 12 x 15 behind its transforms, input 'image' takes "
            "f32[4, 3, 16, 12]; `augment` 'test:resize:18,center-crop:16x12' makes it fit");
  EXPECT_EQ(refusal(listOf("center-crop:12", Split::Test)),
            "`augment`: the list for evaluation makes images of 12 x 12, input 'image' is "
            "f32[4, 3, 16, 12]");
  data->named = true;
  EXPECT_EQ(refusal(listOf("resize:12")),
            "album/0.png is a picture of 12 x 15 behind its transforms, input 'image' takes "
            "f32[4, 3, 16, 12]; `augment` 'random-resized-crop:16x12' makes it fit");
  const EntryInfo grey =
      entryWith({inputOf("image", DLC_F32, {4, 1, 16, 12}), inputOf("label", DLC_I32, {4})}, 4);
  EXPECT_EQ(refusal(listOf(""), grey),
            "album: images are pictures of 3 channels, input 'image' of entry 'e' takes "
            "f32[N, 1, 16, 12]");
  data->named = data->lies = true;
  EXPECT_EQ(refusal(listOf("resize:16x12")),
            "album/0.png: a picture was read as 6000 bytes of 40 x 50 pixels of 4 channels, "
            "which has not the part that is wanted");
  data->asksNothing = true;
  EXPECT_EQ(refusal(listOf("resize:16x12")),
            "album: sample 0: a picture was read, and not asked which part of it is wanted");
}

} // namespace
