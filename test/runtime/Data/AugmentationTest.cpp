// Crops and mirror images by their definition, and that what is drawn depends on nothing but seed,
// epoch and sample.
#include "runtime/Data/Augmentation.h"
#include "runtime/Data/BatchLoader.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

std::string messageFor(std::string_view text) {
  return std::string(parseAugmentation(text).status().message());
}

TEST(Augmentation, IsRead) {
  auto both = parseAugmentation("crop:4,flip").take();
  EXPECT_EQ(both.crop, 4u);
  EXPECT_TRUE(both.flip);
  EXPECT_EQ(parseAugmentation("flip,crop:4")->crop, 4u);
  EXPECT_EQ(parseAugmentation("flip")->crop, 0u);
  EXPECT_FALSE(parseAugmentation("crop:12")->flip);
  for (const char *text : {"", "crop", "crop:", "crop:0", "crop:-1", "crop:4x", "crop:99999999999",
                           "flip,", "flip,flip", "crop:1,crop:2", "turn"})
    EXPECT_EQ(messageFor(text),
              "expected crop:N, flip or crop:N,flip, found '" + std::string(text) + "'");
}

// Each place of a crop comes equally often on each side: 250 of 4,500 times, give or take six
// standard deviations of 15.4.
TEST(Augmentation, DrawsEachPlace) {
  std::map<std::tuple<int64_t, int64_t, bool>, int> counts;
  constexpr int draws = 18 * 250;
  for (uint32_t sample = 0; sample < draws; ++sample) {
    const Placement p = placementOf({.crop = 1, .flip = true}, 7, 3, sample);
    ++counts[{p.down, p.right, p.mirrored}];
  }
  ASSERT_EQ(counts.size(), 18u);
  for (const auto &[place, count] : counts)
    EXPECT_NEAR(count, 250, 6 * 15.4);
}

// Two planes of 3 x 4 numbers, against the padded image of He et al.
TEST(Augmentation, MovesAndMirrors) {
  constexpr int64_t planes = 2, height = 3, width = 4, pad = 2;
  std::vector<uint16_t> image(planes * height * width), placed(image.size());
  std::iota(image.begin(), image.end(), uint16_t(1));
  for (int64_t down = -pad; down <= pad; ++down)
    for (int64_t right = -pad; right <= pad; ++right)
      for (bool mirrored : {false, true}) {
        placeImage({down, right, mirrored}, {planes, height, width, sizeof(uint16_t)},
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

/// The images of a pass, by their samples' numbers.
using Images = std::map<uint32_t, std::vector<std::byte>>;

struct Loading {
  TemporaryFolder folder;
  std::shared_ptr<const Dataset> data;
  Loading() {
    writeSmallData(folder.root(), 48, 1);
    data = openDataset("idx:" + folder.root(), Split::Train).take();
  }

  void add(Images &images, const Pass &pass, Shard shard = {},
           const Augmentation &augmentation = {.crop = 1, .flip = true}) {
    const uint64_t batch = 8 / shard.ranks;
    const EntryInfo entry = entryWith({inputOf("image", DLC_F32, {batch, 1, 4, 4})}, batch);
    auto loader = BatchLoader::create(entry, data, shard).take();
    ASSERT_TRUE(loader->augment(augmentation).ok());
    ASSERT_TRUE(loader->start(pass).ok());
    while (const Batch *batch = loader->next().take())
      for (size_t i = 0; i < batch->samples.size(); ++i) {
        const auto image = batch->inputs[0].subspan(i * 16 * sizeof(float), 16 * sizeof(float));
        images[batch->samples[i]].assign(image.begin(), image.end());
      }
  }

  std::string refusal(std::vector<uint64_t> image, const Augmentation &augmentation) {
    const EntryInfo entry = entryWith({inputOf("image", DLC_F32, std::move(image))}, 8);
    return std::string(BatchLoader::create(entry, data).take()->augment(augmentation).message());
  }
};

// Four ranks see the images that one sees, a pass that begins in the middle those of a whole one;
// another epoch and another seed have others, and a pass without a seed has the files'.
TEST(Augmentation, DependsOnTheSampleAlone) {
  Loading loading;
  const Pass pass = {.seed = 5, .epoch = 2, .firstBatch = 0, .keepPartial = false};
  Images whole, ranks, rest, nextEpoch, otherSeed, evaluated, files;
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
  const Pass plain = {.seed = {}, .epoch = 2, .firstBatch = 0, .keepPartial = true};
  loading.add(evaluated, plain);
  loading.add(files, plain, {}, {});
  EXPECT_EQ(evaluated, files);
  EXPECT_NE(whole, files);
}

TEST(Augmentation, RefusesWhatIsNoImage) {
  Loading loading;
  EXPECT_EQ(loading.refusal({8, 16}, {.crop = 1, .flip = false}),
            "`augment`: entry 'e' takes no images, which are inputs "
            "[N, planes, height, width]");
  EXPECT_EQ(loading.refusal({8, 4, 4}, {.crop = 1, .flip = false}),
            "`augment`: input 'image' is f32[8, 4, 4], which is not moved as images "
            "[N, planes, height, width] are");
  EXPECT_EQ(loading.refusal({8, 1, 4, 4}, {.crop = 4, .flip = false}),
            "`augment`: crop:4 is as large as the images of input 'image', f32[8, 1, 4, 4]");
  EXPECT_EQ(loading.refusal({8, 16}, {}), "");
}

} // namespace
