// Mixed batches: what is drawn, by its distribution and as numpy draws it; what becomes of images
// and labels; and that it depends on seed, epoch and the batch's number alone.
#include "runtime/Data/Augment/Mix.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Data/BatchLoader.h"
#include "test/lib/SmallModel/SmallModel.h"
#include "test/runtime/Data/Inputs.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// The integral of x^(alpha - 1) (1 - x)^(alpha - 1) up to x <= 1/2, in v = x^alpha by the midpoint
/// rule.
double betaBelow(double alpha, double x) {
  constexpr int parts = 4000;
  const double end = std::pow(x, alpha), step = end / parts;
  double sum = 0;
  for (int i = 0; i < parts; ++i)
    sum += std::pow(1 - std::pow((i + 0.5) * step, 1 / alpha), alpha - 1) * step;
  return sum;
}

// Kolmogorov's and Smirnov's distance is below what one in a thousand such samples has.
TEST(Mixtures, AreOfBetaDistribution) {
  constexpr size_t count = 20000;
  for (double alpha : {0.2, 0.4, 0.5, 1.0, 2.0, 8.0}) {
    std::vector<double> drawn;
    for (size_t batch = 0; batch < count; ++batch) {
      const PhiloxWords words = BatchDraws(11, 1, batch).of(0);
      drawn.push_back(drawBeta(alpha, words[0], words[1]));
    }
    std::ranges::sort(drawn);
    EXPECT_GE(drawn.front(), 0);
    EXPECT_LE(drawn.back(), 1);
    const double half = betaBelow(alpha, 0.5);
    double distance = 0;
    for (size_t i = 0; i < count; i += 50) {
      const double x = drawn[i];
      const double expected =
          x < 0.5 ? 0.5 * betaBelow(alpha, x) / half : 1 - 0.5 * betaBelow(alpha, 1 - x) / half;
      distance = std::max(distance, std::fabs(expected - double(i) / count));
    }
    EXPECT_LT(distance, 1.95 / std::sqrt(double(count)) + 50.0 / count) << alpha;
  }
}

// Where the words lie at their ends.
TEST(Mixtures, AreNumbersForAllWords) {
  for (double alpha : {1e-6, 0.2, 1.0, 1e6})
    for (uint32_t first : {0u, 1u, 0x7fffffffu, 0xffffffffu})
      for (uint32_t second : {0u, 0x40000000u, 0x80000000u, 0xffffffffu}) {
        const double share = drawBeta(alpha, first, second);
        EXPECT_TRUE(share >= 0 && share <= 1) << alpha << " " << first << " " << second;
      }
}

// Inputs/make_mix.py prints these.
TEST(Mixtures, AreDrawnAsNumpyDrawsThem) {
  struct Drawn {
    std::string_view list;
    uint64_t batch;
    double share;
    bool pastes;
    uint64_t top, bottom, left, right;
  };
  constexpr Drawn all[] = {{"mixup:0.2", 0, 0.442421202, false, 0, 0, 0, 0},
                           {"mixup:0.2", 1, 0.935789633, false, 0, 0, 0, 0},
                           {"mixup:0.2", 2, 0.00317262539, false, 0, 0, 0, 0},
                           {"mixup:0.2", 3, 0.0362804694, false, 0, 0, 0, 0},
                           {"mixup:0.2", 4, 0.0173838658, false, 0, 0, 0, 0},
                           {"mixup:0.2", 5, 0.999968715, false, 0, 0, 0, 0},
                           {"cutmix:1", 0, 0.555555556, true, 0, 4, 2, 8},
                           {"cutmix:1", 1, 0.851851852, true, 0, 2, 5, 9},
                           {"cutmix:1", 2, 0.611111111, true, 3, 6, 2, 9},
                           {"cutmix:1", 3, 0.555555556, true, 1, 5, 1, 7},
                           {"cutmix:1", 4, 0.851851852, true, 0, 2, 0, 4},
                           {"cutmix:1", 5, 1, true, 1, 1, 7, 7},
                           {"mixup:0.4,cutmix:1", 0, 0.555555556, true, 0, 4, 2, 8},
                           {"mixup:0.4,cutmix:1", 1, 0.815951552, false, 0, 0, 0, 0},
                           {"mixup:0.4,cutmix:1", 2, 0.611111111, true, 3, 6, 2, 9},
                           {"mixup:0.4,cutmix:1", 3, 0.104489072, false, 0, 0, 0, 0},
                           {"mixup:0.4,cutmix:1", 4, 0.851851852, true, 0, 2, 0, 4},
                           {"mixup:0.4,cutmix:1", 5, 1, true, 1, 1, 7, 7}};
  for (const Drawn &each : all) {
    const TransformList list = listOf(each.list);
    const Mixture found = mixtureOf(list.mixes, {6, 9}, BatchDraws(5, 2, each.batch));
    EXPECT_NEAR(found.share, each.share, 1e-8) << each.list << " " << each.batch;
    EXPECT_EQ(found.pastes, each.pastes);
    EXPECT_EQ(std::tie(found.top, found.bottom, found.left, found.right),
              std::tie(each.top, each.bottom, each.left, each.right));
  }
}

/// The batches of a pass: images and labels one behind the other.
using Batches = std::vector<std::vector<std::byte>>;

struct Mixing {
  TemporaryFolder folder;
  std::shared_ptr<const Dataset> data;
  dlc_dtype imageType = DLC_F32, labelType = DLC_F32;
  static constexpr uint64_t batch = 8, classes = 5;

  Mixing() {
    writeSmallData(folder.root(), 52, 1);
    data = openDataset("idx:" + folder.root(), Split::Train).take();
  }

  EntryInfo entry() const {
    return entryWith({inputOf("image", imageType, {batch, 1, 4, 4}),
                      inputOf("label", labelType, {batch, classes})},
                     batch);
  }

  Batches batches(std::string_view list, const Pass &pass, Shard shard = {},
                  unsigned workers = 1) const {
    const EntryInfo own = entry();
    auto loader = BatchLoader::create(own, data, shard, {.workers = workers}, listOf(list));
    EXPECT_TRUE(loader.ok()) << loader.status().message();
    EXPECT_TRUE((*loader)->start(pass).ok());
    Batches all;
    while (const Batch *next = (*loader)->next().take()) {
      std::vector<std::byte> bytes;
      for (const auto &input : next->inputs)
        bytes.insert(bytes.end(), input.begin(), input.end());
      all.push_back(std::move(bytes));
    }
    return all;
  }
};

constexpr Pass third = {.seed = 5, .epoch = 2};

// Each sample with the one before it, the first with the last: lambda a + (1 - lambda) b, or its
// box; and of labels by the same share.
TEST(Mixtures, MixImagesAndLabels) {
  for (dlc_dtype image : {DLC_F32, DLC_F64, DLC_U8, DLC_F16})
    for (std::string_view text : {"mixup:0.4", "cutmix:1", "mixup:0.4,cutmix:1",
                                  "flip,cutmix:0.5,normalise:mean=0.5:std=0.25"}) {
      if (image == DLC_U8 && text.starts_with("flip"))
        continue;
      Mixing mixing;
      mixing.imageType = image;
      const TransformList list = listOf(text);
      std::string others;
      for (const Transform &each : list.all)
        others += (others.empty() ? "" : ",") + each.text;
      const Batches plain = mixing.batches(others, third), mixed = mixing.batches(text, third);
      ASSERT_EQ(plain.size(), 6u);
      ASSERT_EQ(mixed.size(), 6u);
      const uint64_t size = dtypeSize(image), labels = Mixing::batch * 16 * size;
      for (uint64_t b = 0; b < 6; ++b) {
        const Mixture mixture = mixtureOf(list.mixes, {4, 4}, BatchDraws(5, 2, b));
        for (uint64_t row = 0; row < Mixing::batch; ++row) {
          const uint64_t other = (row + Mixing::batch - 1) % Mixing::batch;
          for (uint64_t i = 0; i < 16; ++i) {
            auto of = [&](const Batches &all, uint64_t r) {
              return loadElement(image, &all[b][(r * 16 + i) * size]);
            };
            const uint64_t y = i / 4, x = i % 4;
            const bool pasted = mixture.pastes && y >= mixture.top && y < mixture.bottom &&
                                x >= mixture.left && x < mixture.right;
            double expected = mixture.pastes ? of(plain, pasted ? other : row)
                                             : mixture.share * of(plain, row) +
                                                   (1 - mixture.share) * of(plain, other);
            // Bytes are whole ones, f16 has 11 bits.
            const double rounding = image == DLC_U8 ? 0.5 + 1e-9 : image == DLC_F16 ? 5e-4 : 1e-6;
            EXPECT_NEAR(of(mixed, row), expected, mixture.pastes ? 0 : rounding);
          }
          for (uint64_t c = 0; c < Mixing::classes; ++c) {
            auto of = [&](const Batches &all, uint64_t r) {
              return loadElement(DLC_F32, &all[b][labels + (r * Mixing::classes + c) * 4]);
            };
            EXPECT_NEAR(of(mixed, row),
                        mixture.share * of(plain, row) + (1 - mixture.share) * of(plain, other),
                        1e-6);
          }
        }
      }
    }
}

// The same bits for any number of workers, in a pass that begins in the middle, and for ranks of
// the same batch; another epoch and another seed have others. Other transforms draw as without it.
TEST(Mixtures, DependOnTheBatchAlone) {
  const Mixing mixing;
  constexpr std::string_view text = "crop:1,mixup:0.4,cutmix:1,flip";
  const Batches whole = mixing.batches(text, third);
  ASSERT_EQ(whole.size(), 6u);
  EXPECT_EQ(mixing.batches(text, third, {}, 3), whole);
  EXPECT_EQ(mixing.batches("crop:1,flip,mixup:0.4,cutmix:1", third), whole);
  EXPECT_EQ(mixing.batches(text, {.seed = 5, .epoch = 2, .firstBatch = 4}),
            Batches(whole.begin() + 4, whole.end()));
  for (unsigned rank = 0; rank < 3; ++rank)
    EXPECT_EQ(mixing.batches(text, third, {.rank = rank, .ranks = 3, .even = true}),
              (Batches{whole[rank], whole[rank + 3]}));
  EXPECT_NE(mixing.batches(text, {.seed = 5, .epoch = 3}), whole);
  EXPECT_NE(mixing.batches(text, {.seed = 6, .epoch = 2}), whole);
  EXPECT_NE(mixing.batches("crop:1,flip", third), whole);
}

// What is evaluated is not mixed.
TEST(Mixtures, AreOfTrainingAlone) {
  const Augmentation derived = *parseAugmentation("mixup:1,normalise:mean=0:std=1");
  EXPECT_TRUE(derived.test.mixes.empty());
  EXPECT_EQ(derived.test.all.size(), 1u);
  EXPECT_EQ(derived.text, "mixup:1,normalise:mean=0:std=1");
  const Augmentation given = *parseAugmentation("cutmix:1,test:flip");
  EXPECT_TRUE(given.test.mixes.empty());
  EXPECT_EQ(given.train.mixes.size(), 1u);
}

// Inputs of floats without images are mixed as well.
TEST(Mixtures, MixWhatIsNoImage) {
  const Mixing mixing;
  const EntryInfo entry =
      entryWith({inputOf("x", DLC_F32, {8, 16}), inputOf("label", DLC_F32, {8, 5})}, 8);
  auto loader = BatchLoader::create(entry, mixing.data, {}, {}, listOf("mixup:1"));
  EXPECT_TRUE(loader.ok()) << loader.status().message();
}

TEST(Mixtures, SayWhatCannotBeMixed) {
  const Mixing mixing;
  auto refusal = [&](std::vector<ValueInfo> inputs, std::string_view list, uint64_t batch = 8) {
    const EntryInfo entry = entryWith(std::move(inputs), batch);
    return std::string(
        BatchLoader::create(entry, mixing.data, {}, {}, listOf(list)).status().message());
  };
  const ValueInfo image = inputOf("image", DLC_F32, {8, 1, 4, 4});
  ValueInfo label = inputOf("label", DLC_I32, {8});
  EXPECT_EQ(refusal({image, label}, "mixup:0.2"),
            "`augment`: 'mixup:0.2' mixes labels as well, and input 'label' takes whole numbers, "
            "i32[8]; probabilities of classes are label: f32[N, C]");
  label.classes = 10;
  EXPECT_EQ(refusal({image, label}, "flip,cutmix:1"),
            "`augment`: 'cutmix:1' mixes labels as well, and input 'label' takes whole numbers, "
            "i32[8]; probabilities of classes are label: f32[N, 10]");
  EXPECT_EQ(refusal({inputOf("x", DLC_F32, {8, 16})}, "cutmix:1"),
            "`augment`: 'cutmix:1' cuts images, and entry 'e' takes none, which are inputs "
            "[N, planes, height, width]");
  EXPECT_EQ(refusal({inputOf("x", DLC_U8, {8, 16})}, "mixup:1"),
            "`augment`: 'mixup:1' mixes labels as well, and input 'x' takes whole numbers, "
            "u8[8, 16]");
  EXPECT_EQ(refusal({inputOf("image", DLC_F32, {1, 1, 4, 4})}, "mixup:1", 1),
            "`augment`: 'mixup:1' mixes the samples of a batch, entry 'e' has a batch of 1");
  ValueInfo turned = inputOf("x", DLC_F32, {16, 8});
  turned.batchAxis = 1;
  EXPECT_EQ(refusal({turned}, "mixup:1"),
            "`augment`: 'mixup:1' mixes samples along the first axis of inputs, input 'x' is "
            "f32[16, 8]");

  // Arrays may be images of any type, and several.
  const std::vector<float> numbers(8 * 16);
  const std::vector<int32_t> masks(8 * 16);
  auto arrays = datasetOf({{"a", DLC_F32, {8, 1, 4, 4}, numbers.data()},
                           {"b", DLC_F32, {8, 1, 2, 8}, numbers.data()},
                           {"mask", DLC_I32, {8, 1, 4, 4}, masks.data()}});
  ASSERT_TRUE(arrays.ok());
  auto ofArrays = [&](std::vector<ValueInfo> inputs, std::string_view list) {
    const EntryInfo entry = entryWith(std::move(inputs), 8);
    return std::string(
        BatchLoader::create(entry, *arrays, {}, {}, listOf(list)).status().message());
  };
  const ValueInfo a = inputOf("a", DLC_F32, {8, 1, 4, 4}), b = inputOf("b", DLC_F32, {8, 1, 2, 8}),
                  mask = inputOf("mask", DLC_I32, {8, 1, 4, 4});
  EXPECT_EQ(ofArrays({a, b}, "cutmix:1"),
            "`augment`: 'cutmix:1' cuts the same box out of all images, input 'b' is "
            "f32[8, 1, 2, 8], and others are 4 x 4");
  EXPECT_EQ(ofArrays({a, b}, "mixup:1"), "");
  EXPECT_EQ(ofArrays({a, mask}, "cutmix:1"),
            "`augment`: 'cutmix:1' mixes labels as well, and input 'mask' takes whole numbers, "
            "i32[8, 1, 4, 4]");
}

} // namespace
