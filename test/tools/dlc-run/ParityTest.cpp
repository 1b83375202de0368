// How far apart two tensors are where they hold what is no number.
#include "tools/dlc-run/Parity.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace dlc::runtime;
using namespace dlc::runtime::tool;

namespace {

constexpr float none = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

HostTensor tensorOf(const std::vector<float> &values) {
  HostTensor tensor = makeTensor("t", DLC_F32, {values.size()});
  std::memcpy(tensor.bytes.data(), values.data(), values.size() * sizeof(float));
  return tensor;
}

Difference compare(const std::vector<float> &a, const std::vector<float> &b) {
  return compareTensors(tensorOf(a), tensorOf(b), 1e-6);
}

} // namespace

TEST(Parity, NoNumbersOnBothSidesAreEqual) {
  const Difference rounded = compare({1, none, 2, infinite}, {1, none, 2.000001f, infinite});
  EXPECT_FALSE(rounded.tooLarge());
  EXPECT_GT(rounded.error, 0);
  // They hide no difference of the others.
  const Difference other = compare({1, none, 2, infinite}, {1, none, 3, infinite});
  EXPECT_TRUE(other.tooLarge());
  EXPECT_EQ(other.place, "[2]");
  EXPECT_NEAR(other.error, 1 / std::sqrt(10), 1e-6);
}

TEST(Parity, NoNumberOnOneSideIsNamedAtItsPlace) {
  for (const auto &[a, b] : {std::pair(none, 5.0f), std::pair(5.0f, none)}) {
    const Difference found = compare({1, a, 2, 3}, {1, b, 2, 7});
    EXPECT_TRUE(found.tooLarge());
    EXPECT_EQ(found.place, "[1]");
  }
  EXPECT_TRUE(compare({infinite, 1}, {2, 1}).tooLarge());
  EXPECT_TRUE(compare({2, 1}, {infinite, 1}).tooLarge());
}

// A few elements that are 0 on one side only are compared as such; many are another tensor.
TEST(Parity, SetsMayDifferByFewZeros) {
  std::vector<float> a(128, 1), b(128, 1);
  b[7] = b[9] = 0;
  ASSERT_TRUE(compareAsSets(a, b, 1e-6));
  EXPECT_NEAR(compareAsSets(a, b, 1e-6)->distance, std::sqrt(2), 1e-6);
  EXPECT_NEAR(compareAsSets(b, a, 1e-6)->distance, std::sqrt(2), 1e-6);
  b[11] = 0;
  EXPECT_FALSE(compareAsSets(a, b, 1e-6));
}

// Signs, sizes and infinities, in another order.
TEST(Parity, SetsAreSorted) {
  const std::vector<float> a = {3, -1, infinite, -2.5f, 1e-40f, -infinite, 2048, -3e38f, 2049},
                           b = {-3e38f, 2048, -infinite, 3, 2049, 1e-40f, -1, infinite, -2.5f};
  const auto same = compareAsSets(a, b, 0), other = compareAsSets(a, {b.rbegin(), b.rend()}, 0);
  ASSERT_TRUE(same && other);
  EXPECT_EQ(same->distance, 0);
  EXPECT_EQ(other->distance, 0);
  // The fourth of them in order.
  std::vector<float> c = b;
  c[6] = -2;
  const auto different = compareAsSets(a, c, 0);
  ASSERT_TRUE(different);
  EXPECT_EQ(different->distance, 1);
  EXPECT_EQ(different->place, "rank 3");
}

TEST(Parity, SetsMayHoldWhatIsNoNumber) {
  EXPECT_FALSE(compareAsSets({none, 3, 1, 0}, {1, none, 0, 3}, 1e-6)->tooLarge());
  EXPECT_TRUE(compareAsSets({none, 3, 1}, {1, none, 4}, 1e-6)->tooLarge());
}
