// Random numbers, initial values and layouts.
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Layout.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Philox.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace dlc::runtime;

namespace {

VariableInfo variable(std::string_view name, std::vector<uint64_t> shape,
                      dlc_initialiser_kind initialiser, double a, double b) {
  return {.name = name,
          .type = {DLC_F32, std::move(shape), {}},
          .role = DLC_ROLE_PARAMETER,
          .initialiser = initialiser,
          .a = a,
          .b = b,
          .offset = 0,
          .bytes = 0,
          .of = DLC_NONE};
}

std::vector<float> valuesOf(const VariableInfo &info, uint64_t seed) {
  std::vector<float> values(info.type.elementCount());
  initialValue(info, seed, std::as_writable_bytes(std::span(values)));
  return values;
}

double meanOf(const std::vector<float> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

double deviationOf(const std::vector<float> &values) {
  double sum = 0, mean = meanOf(values);
  for (float value : values)
    sum += (value - mean) * (value - mean);
  return std::sqrt(sum / double(values.size()));
}

// The known answers that come with Random123.
TEST(Philox, MatchesTheReference) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox(~uint64_t(0), {ones, ones, ones, ones}),
            (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Many at once are those one by one, also where the counter's first word wraps around.
TEST(Philox, RunsAreTheSame) {
  for (uint32_t first : {0u, 12345u, 0xfffffffau}) {
    uint32_t words[4][16];
    philoxRun(0x299f31d0a4093822, {first, 7, 0, 0x03707344}, words);
    for (uint32_t lane = 0; lane < 16; ++lane) {
      const PhiloxWords one = philox(0x299f31d0a4093822, {first + lane, 7, 0, 0x03707344});
      for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(words[i][lane], one[i]) << first << ' ' << lane;
    }
  }
}

// Limits: the standard error of 100,000 samples, times five.
TEST(Initialise, HasTheRightMoments) {
  constexpr uint64_t count = 100'000;
  const double error = 5 / std::sqrt(double(count));
  auto uniform = valuesOf(variable("w", {count}, DLC_INIT_UNIFORM, -1, 3), 1);
  EXPECT_NEAR(meanOf(uniform), 1, error * 4 / std::sqrt(12.0));
  EXPECT_NEAR(deviationOf(uniform), 4 / std::sqrt(12.0), error * 2);
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), -1);
  EXPECT_LT(*std::max_element(uniform.begin(), uniform.end()), 3);

  auto normal = valuesOf(variable("w", {count}, DLC_INIT_NORMAL, 2, 0.5), 1);
  EXPECT_NEAR(meanOf(normal), 2, error * 0.5);
  EXPECT_NEAR(deviationOf(normal), 0.5, error);

  auto truncated = valuesOf(variable("w", {count}, DLC_INIT_TRUNCATED_NORMAL, 0, 1), 1);
  EXPECT_NEAR(meanOf(truncated), 0, error);
  EXPECT_NEAR(deviationOf(truncated), 0.8796, error); // of a normal cut at two deviations
  EXPECT_LE(*std::max_element(truncated.begin(), truncated.end()), 2);
}

// A value depends on seed, name and place; not on the shape around it.
TEST(Initialise, DependsOnSeedNameAndPlace) {
  auto all = valuesOf(variable("w", {1000}, DLC_INIT_NORMAL, 0, 1), 7);
  auto few = valuesOf(variable("w", {10, 10}, DLC_INIT_NORMAL, 0, 1), 7);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()));
  EXPECT_NE(valuesOf(variable("v", {1000}, DLC_INIT_NORMAL, 0, 1), 7), all);
  EXPECT_NE(valuesOf(variable("w", {1000}, DLC_INIT_NORMAL, 0, 1), 8), all);
  EXPECT_EQ(valuesOf(variable("w", {3}, DLC_INIT_CONSTANT, 0.5, 0), 7),
            std::vector<float>(3, 0.5f));
}

// Large variables are drawn in pieces: each element stays where abi.h puts it.
TEST(Initialise, DrawsEveryElementOfALargeVariable) {
  constexpr uint64_t count = 1'000'003;
  const VariableInfo info = variable("w", {count}, DLC_INIT_UNIFORM, -1, 1);
  const std::vector<float> values = valuesOf(info, 7);
  for (uint64_t i = 0; i < count; ++i) {
    const PhiloxWords words = philox(7, {static_cast<uint32_t>(i / 4), 0, 0, hashName("w")});
    ASSERT_EQ(values[i], float(-1 + 2 * ((words[i % 4] >> 8) * 0x1p-24))) << i;
  }
}

TEST(Initialise, OrthogonalRowsOrColumns) {
  for (auto [rows, columns] : {std::pair<uint64_t, uint64_t>{6, 20}, {20, 6}}) {
    auto w = valuesOf(variable("w", {rows, columns}, DLC_INIT_ORTHOGONAL, 2, 0), 1);
    const uint64_t vectors = std::min(rows, columns), length = std::max(rows, columns);
    for (uint64_t u = 0; u < vectors; ++u)
      for (uint64_t v = 0; v < vectors; ++v) {
        double product = 0;
        for (uint64_t i = 0; i < length; ++i)
          product += rows <= columns ? w[u * columns + i] * w[v * columns + i]
                                     : w[i * columns + u] * w[i * columns + v];
        EXPECT_NEAR(product, u == v ? 4 : 0, 1e-5);
      }
  }
}

TEST(Elements, RoundAndClamp) {
  std::byte bytes[8];
  auto through = [&](dlc_dtype dtype, double value) {
    storeElement(dtype, value, bytes);
    return loadElement(dtype, bytes);
  };
  EXPECT_EQ(through(DLC_F32, 0.1), double(0.1f));
  EXPECT_EQ(through(DLC_BF16, 1 + 1.0 / 256), 1); // half way: to even
  EXPECT_EQ(through(DLC_BF16, 1 + 3.0 / 256), 1 + 2.0 / 128);
  EXPECT_TRUE(std::isnan(through(DLC_BF16, NAN)));
  EXPECT_EQ(through(DLC_F16, 65504), 65504);
  EXPECT_EQ(through(DLC_I32, 1e20), INT32_MAX);
  EXPECT_EQ(through(DLC_I64, -1e30), double(INT64_MIN));
  EXPECT_EQ(through(DLC_U8, -3), 0);
  EXPECT_EQ(through(DLC_U8, 300), 255);
  EXPECT_EQ(through(DLC_BOOL, -0.5), 1);
}

/// Place of an index in the physical form, straight from the definition in abi.h.
uint64_t placeOf(const TensorType &type, std::vector<uint64_t> index) {
  std::vector<uint64_t> extents = type.shape, inner, innerExtents;
  for (unsigned b = 0; b < type.layout.block_count; ++b) {
    const unsigned axis = type.layout.block_axis[b], size = type.layout.block_size[b];
    inner.push_back(index[axis] % size);
    innerExtents.push_back(size);
    index[axis] /= size;
    extents[axis] = (extents[axis] + size - 1) / size;
  }
  uint64_t place = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    const size_t axis = type.layout.permuted ? type.layout.order[i] : i;
    place = place * extents[axis] + index[axis];
  }
  for (size_t i = 0; i < inner.size(); ++i)
    place = place * innerExtents[i] + inner[i];
  return place;
}

void checkLayout(const TensorType &type) {
  std::vector<float> logical(type.elementCount()), back(logical.size());
  std::iota(logical.begin(), logical.end(), 1.0f);
  std::vector<float> storage(type.storageBytes() / sizeof(float), -1);
  packLayout(type, reinterpret_cast<const std::byte *>(logical.data()),
             reinterpret_cast<std::byte *>(storage.data()));
  std::vector<float> expected(storage.size(), 0);
  for (uint64_t i = 0; i < logical.size(); ++i) {
    std::vector<uint64_t> index(type.shape.size());
    uint64_t rest = i;
    for (size_t axis = index.size(); axis-- > 0; rest /= type.shape[axis])
      index[axis] = rest % type.shape[axis];
    expected[placeOf(type, index)] = logical[i];
  }
  EXPECT_EQ(storage, expected) << type.str();
  unpackLayout(type, reinterpret_cast<const std::byte *>(storage.data()),
               reinterpret_cast<std::byte *>(back.data()));
  EXPECT_EQ(back, logical) << type.str();
}

// Row-major, nhwc, nchw4c with padding, and two blocks in a filter.
TEST(Layout, PacksAndUnpacks) {
  checkLayout({DLC_F32, {2, 3, 4, 5}, {}});
  checkLayout({DLC_F32, {2, 3, 4, 5}, {{0, 2, 3, 1}, 1, 0, {}, {}}});
  checkLayout({DLC_F32, {2, 6, 3, 5}, {{}, 0, 1, {1}, {4}}});
  checkLayout({DLC_F32, {6, 5, 3, 3}, {{1, 0, 2, 3}, 1, 2, {1, 0}, {2, 4}}});
  checkLayout({DLC_F32, {9}, {{}, 0, 2, {0, 0}, {2, 2}}});
  checkLayout({DLC_F32, {}, {}});
  checkLayout({DLC_F32, {3, 0, 2}, {{2, 1, 0}, 1, 0, {}, {}}});
}

} // namespace
