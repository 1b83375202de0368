// Images in the cells of a sheet.
#include "runtime/Data/Sheet.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cmath>

namespace dlc::runtime {
namespace {

/// What was read for a sheet.
struct Shown {
  std::vector<float> numbers;
  Sides sides;
};

/// Takes `normalise` back, which a list has once at most.
void undoNormalise(const TransformList &list, uint64_t planes, std::vector<float> &numbers) {
  for (const Transform &each : list.all) {
    if (each.kind != TransformKind::Normalise)
      continue;
    const uint64_t pixels = numbers.size() / planes;
    for (uint64_t i = 0; i < numbers.size(); ++i) {
      const uint64_t plane = i / pixels;
      numbers[i] = numbers[i] * each.deviation[each.deviation.size() == 1 ? 0 : plane] +
                   each.mean[each.mean.size() == 1 ? 0 : plane];
    }
  }
}

constexpr uint8_t gapColour = 255;

uint64_t allHeight(const Sheet &sheet) {
  return sheet.rows * (sheet.height + Sheet::gap) + Sheet::gap;
}
uint64_t allWidth(const Sheet &sheet) {
  return sheet.columns * (sheet.width + Sheet::gap) + Sheet::gap;
}

Status checkSize(const Sheet &sheet) {
  // Some ten thousand images of a hundred pixels each way.
  constexpr uint64_t most = uint64_t(1) << 26;
  if (allHeight(sheet) * allWidth(sheet) <= most)
    return {};
  return invalid("a sheet of ", allWidth(sheet), " x ", allHeight(sheet),
                 " pixels is more than one can look at, expected at most ", most,
                 " pixels: fewer images, or `augment` resize:128, make a smaller one");
}

/// From `least` to `most` as 0 to 255.
void draw(const std::vector<Shown> &images, uint64_t planes, Sheet &sheet) {
  Picture &picture = sheet.picture;
  picture = {.height = uint32_t(allHeight(sheet)),
             .width = uint32_t(allWidth(sheet)),
             .channels = planes < 3 ? 1u : 3u};
  picture.bytes.assign(uint64_t(picture.height) * picture.width * picture.channels, gapColour);
  constexpr uint64_t gap = Sheet::gap;
  for (uint64_t i = 0; i < images.size(); ++i) {
    const auto [height, width] = images[i].sides;
    // In the middle of its cell.
    const uint64_t top =
                       gap + i / sheet.columns * (sheet.height + gap) + (sheet.height - height) / 2,
                   left = gap + i % sheet.columns * (sheet.width + gap) + (sheet.width - width) / 2;
    for (uint64_t plane = 0; plane < picture.channels; ++plane)
      for (uint64_t y = 0; y < height; ++y)
        for (uint64_t x = 0; x < width; ++x) {
          const float number = images[i].numbers[(plane * height + y) * width + x];
          const float scaled = (number - sheet.least) / (sheet.most - sheet.least) * 255;
          picture.bytes[((top + y) * picture.width + left + x) * picture.channels + plane] =
              static_cast<uint8_t>(std::nearbyint(std::clamp(scaled, 0.0f, 255.0f)));
        }
  }
}

} // namespace

Result<Sheet> drawSheet(const DatasetImages &images, const TransformList &list,
                        std::span<const uint32_t> samples, uint64_t seed, uint32_t epoch) {
  const auto count = static_cast<double>(std::max<size_t>(1, samples.size()));
  Sheet sheet{.rows = 0,
              .columns = static_cast<uint64_t>(std::ceil(std::sqrt(count))),
              .height = 1,
              .width = 1,
              .least = 0,
              .most = 1};
  sheet.rows = (samples.size() + sheet.columns - 1) / sheet.columns;
  FloatImages reader(images);
  std::vector<Shown> shown;
  for (const uint32_t sample : samples) {
    DLC_TRY_ASSIGN(image, reader.read(sample, list, SampleDraws(seed, epoch, sample)));
    const Sides sides = reader.sides();
    sheet.height = std::max<uint64_t>(sheet.height, sides.height);
    sheet.width = std::max<uint64_t>(sheet.width, sides.width);
    DLC_TRY(checkSize(sheet));
    shown.push_back({{image.begin(), image.end()}, sides});
    undoNormalise(list, images.planes, shown.back().numbers);
    // Of bytes what goes beyond black and white is what a transform of colours did, and roundings.
    for (const float number : shown.back().numbers)
      if (std::isfinite(number) && images.mapped.from != DLC_U8) {
        sheet.least = std::min(sheet.least, number);
        sheet.most = std::max(sheet.most, number);
      }
  }
  draw(shown, images.planes, sheet);
  return sheet;
}

} // namespace dlc::runtime
