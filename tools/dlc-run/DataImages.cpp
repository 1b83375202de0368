// Images as numbers and as a picture: means and deviations of channels, and a sheet of those that a
// batch would have.
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ChannelMoments.h"
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Data/Shuffle.h"
#include "tools/dlc-run/Data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlc::runtime::tool {

static Split splitOf(const DataFlags &flags) {
  return flags.split == "test" ? Split::Test : Split::Train;
}

Status printMeans(const DataFlags &flags) {
  DLC_TRY_ASSIGN(data, openData(flags, splitOf(flags)));
  DLC_TRY_ASSIGN(images, openImages(data));
  ChannelMoments found;
  {
    WalkBar bar(concat("images of ", data.splitName()), data.dataset->size(), flags.json);
    DLC_TRY_ASSIGN(moments, channelMoments(images, data.transforms, flags.seed, threadsOf(flags),
                                           [&](uint64_t done) { bar.update(done); }));
    found = std::move(moments);
  }
  const std::string normalise = found.normaliseText();
  if (flags.json) {
    printJson({{"data", printable(flags.data)},
               {"split", data.splitName()},
               {"images", found.images},
               {"pixels", found.pixels},
               {"mean", found.mean},
               {"deviation", found.deviation},
               {"augment", normalise}});
    return {};
  }
  std::printf("%s: %llu images, %llu pixels of each channel\n",
              std::string(data.splitName()).c_str(), static_cast<unsigned long long>(found.images),
              static_cast<unsigned long long>(found.pixels));
  Table table({"channel", "mean", "deviation"});
  for (size_t i = 0; i < found.mean.size(); ++i)
    table.add(
        {std::to_string(i), printf("%.6f", found.mean[i]), printf("%.6f", found.deviation[i])});
  table.print();
  if (normalise.empty())
    printNotes({"a channel is the same everywhere, so nothing normalises it"});
  else
    std::printf("  --augment %s\n", normalise.c_str());
  return {};
}

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

/// Pixels between the images of a sheet, and what they are.
constexpr uint64_t gap = 2;
constexpr uint8_t gapColour = 255;

/// Rows and columns of images, of which each has a cell as large as the largest.
struct Grid {
  uint64_t rows, columns, height, width;

  static Grid of(uint64_t count, const Sides &largest) {
    const auto columns = static_cast<uint64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
    return {(count + columns - 1) / columns, columns, largest.height, largest.width};
  }
  uint64_t allHeight() const { return rows * (height + gap) + gap; }
  uint64_t allWidth() const { return columns * (width + gap) + gap; }
};

Status checkGrid(const Grid &grid) {
  // Some ten thousand images of a hundred pixels each way.
  constexpr uint64_t most = uint64_t(1) << 26;
  if (grid.allHeight() * grid.allWidth() <= most)
    return {};
  return invalid("--sheet: ", grid.allWidth(), " x ", grid.allHeight(),
                 " pixels are too many to look at, expected at most ", most,
                 "; fewer --samples, or --augment resize:128 makes the images smaller");
}

/// From `least` to `most` as 0 to 255.
Picture draw(const std::vector<Shown> &images, uint64_t planes, const Grid &grid, float least,
             float most) {
  Picture sheet{.height = uint32_t(grid.allHeight()),
                .width = uint32_t(grid.allWidth()),
                .channels = planes < 3 ? 1u : 3u};
  sheet.bytes.assign(uint64_t(sheet.height) * sheet.width * sheet.channels, gapColour);
  for (uint64_t i = 0; i < images.size(); ++i) {
    const auto [height, width] = images[i].sides;
    // In the middle of its cell.
    const uint64_t top = gap + i / grid.columns * (grid.height + gap) + (grid.height - height) / 2,
                   left = gap + i % grid.columns * (grid.width + gap) + (grid.width - width) / 2;
    for (uint64_t plane = 0; plane < sheet.channels; ++plane)
      for (uint64_t y = 0; y < height; ++y)
        for (uint64_t x = 0; x < width; ++x) {
          const float number = images[i].numbers[(plane * height + y) * width + x];
          const float scaled = (number - least) / (most - least) * 255;
          sheet.bytes[((top + y) * sheet.width + left + x) * sheet.channels + plane] =
              static_cast<uint8_t>(std::nearbyint(std::clamp(scaled, 0.0f, 255.0f)));
        }
  }
  return sheet;
}

/// The samples in the order of a training's first epoch; of tests in their own.
std::vector<uint32_t> orderOf(const OpenedData &data, uint64_t seed) {
  const auto size = static_cast<uint32_t>(data.dataset->size());
  if (data.split == Split::Train)
    return shuffledOrder(size, seed, /*epoch=*/0);
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

} // namespace

Status writeSheet(const DataFlags &flags) {
  DLC_TRY(checkWritable(flags.sheet, dataFiles(flags.data)));
  DLC_TRY_ASSIGN(encode, openPictureEncoder());
  DLC_TRY_ASSIGN(data, openData(flags, splitOf(flags)));
  DLC_TRY_ASSIGN(images, openImages(data));
  const std::vector<uint32_t> order = orderOf(data, flags.seed);
  const uint64_t count = std::min<uint64_t>(flags.samples, order.size());
  FloatImages reader(images);
  std::vector<Shown> shown;
  Sides largest = {1, 1};
  float least = 0, most = 1;
  for (uint64_t i = 0; i < count; ++i) {
    DLC_TRY_ASSIGN(image, reader.read(order[i], data.transforms,
                                      SampleDraws(flags.seed, /*epoch=*/0, order[i])));
    const Sides sides = reader.sides();
    largest = {std::max(largest.height, sides.height), std::max(largest.width, sides.width)};
    DLC_TRY(checkGrid(Grid::of(count, largest)));
    shown.push_back({{image.begin(), image.end()}, sides});
    undoNormalise(data.transforms, images.planes, shown.back().numbers);
    for (const float number : shown.back().numbers)
      if (std::isfinite(number)) {
        least = std::min(least, number);
        most = std::max(most, number);
      }
  }
  // Of bytes what goes beyond black and white is what a transform of colours did, and roundings.
  const bool areBytes = images.mapped.from == DLC_U8;
  if (areBytes)
    least = 0, most = 1;
  else if (least < 0 || most > 1)
    printNotes({concat(data.dataset->name(), ": numbers from ", least, " to ", most,
                       " are shown from black to white")});
  const Grid grid = Grid::of(count, largest);
  DLC_TRY_ASSIGN(file, encode(draw(shown, images.planes, grid, least, most), PictureFormat::Png,
                              /*quality=*/100));
  DLC_TRY(writeFile(flags.sheet, file));
  if (!flags.json) {
    std::printf("%s: %llu images in %llu rows\n", printable(flags.sheet).c_str(),
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(grid.rows));
    return {};
  }
  printJson({{"sheet", printable(flags.sheet)},
             {"split", data.splitName()},
             {"samples", std::span(order).first(count)},
             {"rows", grid.rows},
             {"columns", grid.columns},
             {"height", grid.height},
             {"width", grid.width},
             {"gap", gap}});
  return {};
}

} // namespace dlc::runtime::tool
