// Images as numbers and as a picture: means and deviations of channels, and a sheet of those that a
// batch would have.
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/ChannelMoments.h"
#include "runtime/Data/Pictures/Plugin.h"
#include "runtime/Data/Sheet.h"
#include "runtime/Data/Shuffle.h"
#include "tools/dlc-run/Data.h"

#include <algorithm>
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

/// The samples in the order of a training's first epoch; of tests in their own.
static std::vector<uint32_t> orderOf(const OpenedData &data, uint64_t seed) {
  const auto size = static_cast<uint32_t>(data.dataset->size());
  if (data.split == Split::Train)
    return shuffledOrder(size, seed, /*epoch=*/0);
  std::vector<uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

Status writeSheet(const DataFlags &flags) {
  DLC_TRY(checkWritable(flags.sheet, dataFiles(flags.data)));
  DLC_TRY_ASSIGN(encode, openPictureEncoder());
  DLC_TRY_ASSIGN(data, openData(flags, splitOf(flags)));
  DLC_TRY_ASSIGN(images, openImages(data));
  const std::vector<uint32_t> order = orderOf(data, flags.seed);
  const uint64_t count = std::min<uint64_t>(flags.samples, order.size());
  DLC_TRY_ASSIGN(sheet, drawSheet(images, data.transforms, std::span(order).first(count),
                                  flags.seed, /*epoch=*/0));
  if (sheet.least < 0 || sheet.most > 1)
    printNotes({concat(data.dataset->name(), ": numbers from ", sheet.least, " to ", sheet.most,
                       " are shown from black to white")});
  DLC_TRY_ASSIGN(file, encode(sheet.picture, PictureFormat::Png, /*quality=*/100));
  DLC_TRY(writeFile(flags.sheet, file));
  if (!flags.json) {
    std::printf("%s: %llu images in %llu rows\n", printable(flags.sheet).c_str(),
                static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(sheet.rows));
    return {};
  }
  printJson({{"sheet", printable(flags.sheet)},
             {"split", data.splitName()},
             {"samples", std::span(order).first(count)},
             {"rows", sheet.rows},
             {"columns", sheet.columns},
             {"height", sheet.height},
             {"width", sheet.width},
             {"gap", Sheet::gap}});
  return {};
}

} // namespace dlc::runtime::tool
