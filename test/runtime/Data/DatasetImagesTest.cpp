// Images without a model: which ones there are, that they are those of a batch, and their moments.
#include "runtime/Data/BatchLoader.h"
#include "runtime/Data/ChannelMoments.h"
#include "runtime/Data/SampleWalk.h"
#include "test/runtime/Data/Inputs.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// Images of random numbers, and labels.
template <typename Number> struct RandomImages {
  std::vector<Number> numbers;
  std::vector<int32_t> labels;
  std::shared_ptr<const Dataset> dataset;

  RandomImages(dlc_dtype dtype, uint64_t count, std::vector<uint64_t> shape, double offset = 0) {
    std::mt19937 random(7);
    shape.insert(shape.begin(), count);
    uint64_t all = 1;
    for (uint64_t extent : shape)
      all *= extent;
    for (uint64_t i = 0; i < all; ++i)
      numbers.push_back(static_cast<Number>(offset + random() % 256));
    labels.resize(count);
    auto made = datasetOf(
        {{"label", DLC_I32, {count}, labels.data()}, {"image", dtype, shape, numbers.data()}},
        "random");
    EXPECT_TRUE(made.ok()) << made.status().message();
    dataset = *made;
  }
};

DatasetImages imagesIn(const std::shared_ptr<const Dataset> &dataset) {
  Result<DatasetImages> images = imagesOf(dataset, nullptr);
  EXPECT_TRUE(images.ok()) << images.status().message();
  return images.take();
}

std::string messageOf(const std::shared_ptr<const Dataset> &dataset,
                      const EntryInfo *reader = nullptr) {
  const Result<DatasetImages> images = imagesOf(dataset, reader);
  return images.ok() ? "found" : std::string(images.status().message());
}

// Arrays are images by their shape and type; a model says it where one does not.
TEST(DatasetImages, AreFound) {
  const RandomImages<uint8_t> bytes(DLC_U8, 3, {3, 4, 5});
  const DatasetImages images = imagesIn(bytes.dataset);
  EXPECT_EQ(images.mapped.field, 1u);
  EXPECT_EQ(images.planes, 3u);
  EXPECT_EQ(images.sides, (Sides{4, 5}));
  EXPECT_EQ(messageOf(RandomImages<int32_t>(DLC_I32, 3, {3, 4, 5}).dataset),
            "random: there are no images in it");
  const RandomImages<float> many(DLC_F32, 3, {7, 4, 5});
  EXPECT_EQ(messageOf(many.dataset), "random: there are no images in it");
  EntryInfo entry = entryWith({inputOf("image", DLC_F32, {2, 7, 4, 5})}, 2);
  EXPECT_EQ(messageOf(many.dataset, &entry), "found");
  entry = entryWith({inputOf("label", DLC_I32, {2})}, 2);
  EXPECT_EQ(messageOf(many.dataset, &entry), "random: entry 'e' takes no images of it");
}

TEST(DatasetImages, RefuseAListThatCannotBeApplied) {
  const RandomImages<uint8_t> bytes(DLC_U8, 3, {1, 4, 5});
  const DatasetImages images = imagesIn(bytes.dataset);
  EXPECT_TRUE(checkList(images, listOf("resize:3,crop:1,flip")).ok());
  EXPECT_EQ(
      checkList(images, listOf("pca:0.1")).message(),
      "`augment`: 'pca:0.1' is for images of three planes, input 'images' is f32[1, 1, 4, 5]");
  EXPECT_FALSE(checkList(images, listOf("crop:4")).ok());
  EXPECT_FALSE(checkList(images, listOf("normalise:mean=1/2:std=1")).ok());
}

// To the bit what a training's batches hold, whatever is drawn.
TEST(DatasetImages, AreThoseOfABatch) {
  constexpr uint64_t count = 12, elements = 3 * 6 * 5, seed = 5;
  const RandomImages<uint8_t> bytes(DLC_U8, count, {3, 8, 9});
  const TransformList list = listOf("random-resized-crop:6x5,flip,rotate:20,colour-jitter:hue=0.1,"
                                    "normalise:mean=0.1/0.2/0.3:std=0.5");
  const EntryInfo entry = entryWith({inputOf("image", DLC_F32, {4, 3, 6, 5})}, 4);
  auto loader = BatchLoader::create(entry, bytes.dataset, {}, {}, list);
  ASSERT_TRUE(loader.ok()) << loader.status().message();
  ASSERT_TRUE((*loader)->start({.seed = seed}).ok());
  FloatImages images(imagesIn(bytes.dataset));
  for (uint64_t i = 0; i < count / 4; ++i) {
    const auto batch = (*loader)->next();
    ASSERT_TRUE(batch.ok());
    for (uint64_t row = 0; row < 4; ++row) {
      const uint32_t sample = (*batch)->samples[row];
      const auto image = images.read(sample, list, SampleDraws(seed, 0, sample));
      ASSERT_TRUE(image.ok());
      ASSERT_EQ(image->size(), elements);
      EXPECT_EQ(
          std::memcmp(image->data(), (*batch)->inputs[0].data() + row * elements * 4, elements * 4),
          0);
    }
  }
}

/// By their definition, in long double.
template <typename Number>
void expectMoments(const ChannelMoments &found, const RandomImages<Number> &images, uint64_t planes,
                   uint64_t pixels, float scale) {
  for (uint64_t plane = 0; plane < planes; ++plane) {
    long double sum = 0, squares = 0, count = 0;
    auto forEach = [&](const auto &take) {
      for (uint64_t i = 0; i < images.numbers.size(); ++i)
        if (i / pixels % planes == plane)
          take(static_cast<long double>(static_cast<float>(images.numbers[i]) * scale));
    };
    forEach([&](long double x) { sum += x, ++count; });
    forEach([&](long double x) { squares += (x - sum / count) * (x - sum / count); });
    EXPECT_EQ(found.pixels, static_cast<uint64_t>(count));
    // Sums of f64.
    EXPECT_NEAR(found.mean[plane], double(sum / count), std::fabs(double(sum / count)) * 1e-13);
    EXPECT_NEAR(found.deviation[plane] / double(std::sqrt(squares / count)), 1, 1e-12);
  }
}

Result<ChannelMoments> momentsOf(const std::shared_ptr<const Dataset> &dataset, unsigned threads,
                                 std::string_view list = "") {
  return channelMoments(imagesIn(dataset), listOf(list), 3, threads);
}

// Also where the deviation is a part of 100,000 of the mean; the bits are those of one thread.
TEST(ChannelMoments, AreThoseOfAllPixels) {
  const RandomImages<uint8_t> bytes(DLC_U8, 333, {3, 8, 9});
  const auto found = momentsOf(bytes.dataset, 1);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->images, 333u);
  expectMoments(*found, bytes, 3, 72, 1.0f / 255);
  for (const unsigned threads : {2u, 3u, 8u, 100u}) {
    const auto again = momentsOf(bytes.dataset, threads);
    EXPECT_EQ(again->mean, found->mean);
    EXPECT_EQ(again->deviation, found->deviation);
    const auto drawn = momentsOf(bytes.dataset, threads, "crop:2,rotate:30");
    EXPECT_EQ(drawn->deviation, momentsOf(bytes.dataset, 1, "crop:2,rotate:30")->deviation);
  }
  const RandomImages<float> far(DLC_F32, 130, {1, 8, 9}, 1e7);
  expectMoments(*momentsOf(far.dataset, 2), far, 1, 72, 1);
}

// What is printed makes the mean 0 and the deviation 1.
TEST(ChannelMoments, NormaliseImages) {
  const RandomImages<uint8_t> bytes(DLC_U8, 100, {3, 8, 9});
  const auto found = momentsOf(bytes.dataset, 2);
  const auto normal = momentsOf(bytes.dataset, 2, found->normaliseText());
  for (size_t plane = 0; plane < 3; ++plane) {
    EXPECT_NEAR(normal->mean[plane], 0, 1e-5);
    EXPECT_NEAR(normal->deviation[plane], 1, 1e-5);
  }
  const std::vector<uint8_t> black(2 * 16);
  const auto constant = datasetOf({{"image", DLC_U8, {2, 1, 4, 4}, black.data()}});
  EXPECT_EQ(momentsOf(*constant, 1)->normaliseText(), "");
}

TEST(SampleWalk, TakesEachSampleOnce) {
  for (const uint64_t samples : {0u, 1u, 64u, 65u, 1000u})
    for (const unsigned threads : {1u, 3u, 50u}) {
      const SampleWalk walk = {.samples = samples, .blockSamples = 7, .threads = threads};
      std::vector<std::atomic<int>> seen(samples);
      std::atomic<unsigned> mostThread = 0;
      const Status done = walk.run([&](const SampleBlock &block) {
        EXPECT_EQ(block.begin, block.number * 7);
        if (block.thread >= walk.mostThreads())
          mostThread = block.thread;
        for (uint64_t i = block.begin; i < block.end; ++i)
          ++seen[i];
        return Status();
      });
      EXPECT_TRUE(done.ok());
      EXPECT_EQ(mostThread, 0u);
      for (const std::atomic<int> &each : seen)
        EXPECT_EQ(each, 1);
    }
}

// Of several failures the one of the first block, however threads take turns.
TEST(SampleWalk, FailsWithTheFirst) {
  for (int round = 0; round < 50; ++round) {
    const SampleWalk walk = {.samples = 100, .blockSamples = 1, .threads = 8};
    const Status failed = walk.run([](const SampleBlock &block) {
      return block.number % 10 == 9
                 ? Status(StatusCode::Failed, "block " + std::to_string(block.number))
                 : Status();
    });
    EXPECT_EQ(failed.message(), "block 9");
  }
}

} // namespace
