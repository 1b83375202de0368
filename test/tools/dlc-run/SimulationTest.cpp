// What the slowest of some ranks takes: known values, and integrals by another formula. What ranks
// do beside the sums of a plan takes what the collectives do that it is made of.
#include "tools/dlc-run/SimulatedRanks.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

using namespace dlc::runtime::tool;

namespace {

constexpr double pi = std::numbers::pi;

/// Phi(x)
double below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

/// Simpson's rule over [from, to].
template <typename Function> double integral(double from, double to, Function function) {
  constexpr int parts = 20000;
  const double step = (to - from) / parts;
  double sum = function(from) + function(to);
  for (int i = 1; i < parts; ++i)
    sum += (i % 2 ? 4 : 2) * function(from + i * step);
  return sum * step / 3;
}

/// How far the largest lies above 0 in the mean, less how far it lies below: no density in it.
double byTails(double count) {
  return integral(0, 12, [&](double x) { return 1 - std::pow(below(x), count); }) -
         integral(-12, 0, [&](double x) { return std::pow(below(x), count); });
}

// Closed forms; those of 4 and 5 are Bose and Gupta's (1959).
TEST(ExpectedMaximum, IsWhatIsKnownOfAFew) {
  const double root = std::sqrt(pi);
  EXPECT_EQ(expectedMaximum(1), 0);
  EXPECT_NEAR(expectedMaximum(2), 1 / root, 1e-12);
  EXPECT_NEAR(expectedMaximum(3), 1.5 / root, 1e-12);
  EXPECT_NEAR(expectedMaximum(4), 3 / root * (0.5 + std::asin(1.0 / 3) / pi), 1e-12);
  EXPECT_NEAR(expectedMaximum(5), 5 / root * (0.25 + 1.5 * std::asin(1.0 / 3) / pi), 1e-12);
}

TEST(ExpectedMaximum, IsTheIntegralOfItsTails) {
  for (uint64_t count = 2; count <= 4096; count += count < 64 ? 1 : 61)
    EXPECT_NEAR(expectedMaximum(count), byTails(double(count)), 1e-10) << count;
  EXPECT_NEAR(expectedMaximum(4096), byTails(4096), 1e-10);
}

// Far more than --ranks takes: the largest of 2^32, by its tails.
TEST(ExpectedMaximum, HoldsForAllNumbersOfRanks) {
  EXPECT_NEAR(expectedMaximum(uint64_t(1) << 32), byTails(0x1p32), 1e-6);
}

TEST(SlowestOf, IsTheMeanOfOneRankOrWithoutSpread) {
  EXPECT_EQ(slowestOf(1, 0.3), 1);
  EXPECT_EQ(slowestOf(4096, 0), 1);
  EXPECT_NEAR(slowestOf(2, 0.05), 1 + 0.05 / std::sqrt(pi), 1e-12);
}

constexpr double message = 1e-3, byte = 1e-6;

Network ringOf(double message, double byte) {
  Network network;
  network.between = {message, byte};
  return network;
}

TEST(SimulatedRanks, AllHaveWhatRank0Has) {
  SimulatedRanks ranks(ringOf(message, byte), 5);
  double number = 1.5;
  ASSERT_TRUE(ranks.sum(std::span(&number, 1)).ok());
  EXPECT_EQ(number, 7.5);
  auto texts = ranks.gather("abc");
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(*texts, std::vector<std::string>(5, "abc"));
  std::string text = "abc";
  ASSERT_TRUE(ranks.broadcast(text).ok());
  EXPECT_EQ(text, "abc");
  auto same = ranks.isSame({});
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(*same);
}

// Five ranks are three messages apart. That of 16 bytes is broadcast and one of 8 is summed.
TEST(SimulatedRanks, AgreeInTwoShortCollectives) {
  SimulatedRanks ranks(ringOf(message, byte), 5);
  ASSERT_TRUE(ranks.isSame({}).ok());
  EXPECT_NEAR(ranks.takeSeconds(), 3 * (message + 16 * byte) + 3 * (message + 8 * byte), 1e-12);
  EXPECT_EQ(ranks.takeSeconds(), 0);
}

TEST(Network, BroadcastsByTheFasterOfTwoWays) {
  const Network network = ringOf(message, byte);
  EXPECT_EQ(network.secondsOfBroadcast(1, 1000), 0);
  EXPECT_NEAR(network.secondsOfBroadcast(8, 80), 3 * (message + 80 * byte), 1e-12);
  // Halves, quarters and eighths to the last, then seven more around the ring.
  EXPECT_NEAR(network.secondsOfBroadcast(8, 80'000'000),
              10 * message + (70'000'000 + 70'000'000) * byte, 1e-6);
}

TEST(Network, CollectsAllThatIsNotRank0s) {
  EXPECT_NEAR(ringOf(message, byte).secondsOfCollect(8, 1000), 3 * message + 7000 * byte, 1e-12);
}

TEST(Network, GoesOverNodesAndWithinThem) {
  Network network = ringOf(message, byte);
  network.topology = Topology::TwoLevel;
  network.perNode = 4;
  network.within = {message / 100, byte / 100};
  EXPECT_NEAR(network.secondsOfShortSum(32, 8),
              3 * (message + 8 * byte) + 2 * (message + 8 * byte) / 100, 1e-12);
}

} // namespace
