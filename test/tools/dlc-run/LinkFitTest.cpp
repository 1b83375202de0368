// The line through sums of curves that are made, with what real ones have: noise, a size that takes
// long, bytes that pass at once.
#include "tools/dlc-run/LinkFit.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

using namespace dlc::runtime::tool;

namespace {

constexpr double alpha = 2e-4, beta = 8e-9;

double onLine(uint64_t bytes) { return alpha + beta * double(bytes); }

/// As `link` measures: by fours up to 256 KiB, then by twos up to 16 MiB.
std::vector<MeasuredSum> measured(const std::function<double(uint64_t)> &seconds) {
  std::vector<MeasuredSum> sums;
  for (uint64_t bytes = 1 << 10; bytes <= 16 << 20; bytes *= bytes < leastBytesForBeta ? 4 : 2)
    sums.push_back({bytes, seconds(bytes)});
  return sums;
}

TEST(LinkFit, FindsALine) {
  const LinkLine line = fitLink(measured(onLine));
  EXPECT_NEAR(line.alpha / alpha, 1, 1e-9);
  EXPECT_NEAR(line.beta / beta, 1, 1e-9);
}

// Times 5% too long and too short by turns: the largest sums are apart by nearly all of their
// bytes, so beta is off by little more than that, alpha by a tenth at most.
TEST(LinkFit, BearsNoise) {
  int turn = 0;
  const LinkLine line =
      fitLink(measured([&](uint64_t bytes) { return onLine(bytes) * (++turn % 2 ? 1.05 : 0.95); }));
  EXPECT_NEAR(line.beta / beta, 1, 0.08);
  EXPECT_NEAR(line.alpha / alpha, 1, 0.1);
}

// One size takes four times as long, whichever.
TEST(LinkFit, BearsASlowSize) {
  for (const MeasuredSum &slow : measured(onLine)) {
    const LinkLine line = fitLink(
        measured([&](uint64_t bytes) { return onLine(bytes) * (bytes == slow.bytes ? 4 : 1); }));
    EXPECT_NEAR(line.beta / beta, 1, 0.05) << slow.bytes;
    EXPECT_NEAR(line.alpha / alpha, 1, 0.2) << slow.bytes;
  }
}

// The first 256 KiB of each sum pass at once, as through a token bucket: least squares of relative
// errors would find half of beta.
TEST(LinkFit, BearsABurst) {
  const LinkLine line = fitLink(measured(
      [](uint64_t bytes) { return onLine(std::max<uint64_t>(bytes, 256 << 10) - (256 << 10)); }));
  EXPECT_NEAR(line.beta / beta, 1, 1e-9);
}

// On a machine that is busy, where sums of 64 KiB take as long as those of 1 MiB: no alpha of 0,
// which dlc would not take.
TEST(LinkFit, GivesWhatDlcTakes) {
  const LinkLine line = fitLink(
      measured([](uint64_t bytes) { return bytes < 4096 ? 7e-5 : 3.2e-8 * double(bytes) * 0.9; }));
  EXPECT_GT(line.alpha, 0);
  EXPECT_GT(line.beta, 0);
  EXPECT_GT(fitLink(measured([](uint64_t) { return 7e-5; })).beta, 0);
}

} // namespace
