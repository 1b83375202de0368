//===- BucketsTest.cpp - cuts of gradients against all cuts that there are --------------------===//
#include "passes/DL/Schedule/Buckets.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace dlc::dl;

/// When the last reduction ends, one step of the model after the other.
static double endOf(llvm::ArrayRef<FinishedGradient> gradients, llvm::ArrayRef<unsigned> sizes,
                    const Link &link) {
  double end = 0;
  for (unsigned size : sizes) {
    int64_t bytes = 0;
    for (const FinishedGradient &gradient : gradients.take_front(size))
      bytes += gradient.bytes;
    end = std::max(end, gradients[size - 1].seconds) + link.alpha + link.beta * double(bytes);
    gradients = gradients.drop_front(size);
  }
  return end;
}

/// All ways to cut n gradients into runs, by the set of places between them.
static std::vector<llvm::SmallVector<unsigned>> allCuts(unsigned n) {
  std::vector<llvm::SmallVector<unsigned>> all;
  for (unsigned places = 0; places < 1u << (n - 1); ++places) {
    llvm::SmallVector<unsigned> sizes{1};
    for (unsigned i = 0; i + 1 < n; ++i)
      if (places >> i & 1)
        sizes.push_back(1);
      else
        ++sizes.back();
    all.push_back(sizes);
  }
  return all;
}

/// How much later than the earliest of `cuts` it ends, as a share of 1% of one reduction of all, or
/// of what each takes from those who compute.
static double latenessOf(llvm::ArrayRef<FinishedGradient> gradients, const Link &link,
                         const std::vector<llvm::SmallVector<unsigned>> &cuts,
                         llvm::ArrayRef<unsigned> cut) {
  double earliest = 1e9;
  int64_t bytes = 0;
  for (const auto &other : cuts)
    earliest = std::min(earliest, endOf(gradients, other, link));
  for (const FinishedGradient &gradient : gradients)
    bytes += gradient.bytes;
  return (endOf(gradients, cut, link) - earliest) /
         std::max(0.01 * link.secondsFor(bytes), link.taken);
}

// The fewest buckets of all cuts whose end is near the earliest, on the link and on a slow one;
// where there are none, those that are least late.
TEST(Buckets, ByTimeAreTheFewestThatEndEarly) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::vector<FinishedGradient> gradients(2 + round % 6);
    double time = 0;
    for (FinishedGradient &gradient : gradients)
      gradient = {int64_t(random() % 1000000), time += double(random() % 1000) * 1e-6};
    const Link link{double(random() % 100) * 1e-6, double(random() % 100) * 1e-11,
                    round % 2 ? double(random() % 100) * 1e-6 : 0};
    const double margin = 1 + round % 3;
    const auto cuts = allCuts(gradients.size());
    auto late = [&](llvm::ArrayRef<unsigned> cut) {
      return std::max(latenessOf(gradients, link, cuts, cut),
                      latenessOf(gradients, link.slower(margin), cuts, cut));
    };
    double least = 1e9;
    for (const auto &cut : cuts)
      least = std::min(least, late(cut));
    const double limit = std::max(least, 1.0) + 1e-7;
    size_t fewest = gradients.size();
    for (const auto &cut : cuts)
      if (late(cut) <= limit)
        fewest = std::min(fewest, cut.size());
    llvm::SmallVector<unsigned> found = cutByTime(gradients, link, margin);
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), 0u), gradients.size());
    EXPECT_LE(late(found), limit);
    EXPECT_EQ(found.size(), fewest);
  }
}

// On a link that is slow enough to be busy all the time it is all one where the last gradients go,
// on a faster one not: a large and a small gradient that come late, the small one last.
TEST(Buckets, ThatAreGoodOnASlowLinkAreGoodOnAFastOne) {
  const std::vector<FinishedGradient> gradients{
      {5000, 1e-3}, {1600000, 2e-3}, {100000, 18e-3}, {2000, 20e-3}};
  const Link link{1e-6, 8e-9};
  EXPECT_EQ(cutByTime(gradients, link.slower(2)), (llvm::SmallVector<unsigned>{2, 2}));
  EXPECT_EQ(cutByTime(gradients, link), (llvm::SmallVector<unsigned>{2, 1, 1}));
  EXPECT_EQ(cutByTime(gradients, link, 2), (llvm::SmallVector<unsigned>{2, 1, 1}));
}

// LeNet: on the slow link the small first gradient must not wait for the large one, on the link the
// last one but one not for the last; no cut of either link alone does both.
TEST(Buckets, AreNeitherLinksOwn) {
  const std::vector<FinishedGradient> gradients{
      {20000, 2e-3}, {1600000, 6e-3}, {100000, 18e-3}, {2000, 24e-3}};
  const Link link{1e-5, 8e-9};
  EXPECT_EQ(cutByTime(gradients, link), (llvm::SmallVector<unsigned>{2, 1, 1}));
  EXPECT_EQ(cutByTime(gradients, link.slower(2)), (llvm::SmallVector<unsigned>{1, 1, 2}));
  EXPECT_EQ(cutByTime(gradients, link, 2), (llvm::SmallVector<unsigned>{1, 1, 1, 1}));
}

// LeNet's large gradients in bf16, and its small ones: a sum more takes longer from the kernels
// than it would spare at the end.
TEST(Buckets, AreWorthWhatTheyTakeFromKernels) {
  const std::vector<FinishedGradient> large{{10000, 2e-3}, {800000, 6e-3}, {50000, 18e-3}};
  const std::vector<FinishedGradient> small{{2448, 22e-3}, {2000, 24e-3}};
  const Link link{1e-5, 8e-9};
  EXPECT_EQ(cutByTime(large, link.slower(2), 1), (llvm::SmallVector<unsigned>{1, 1, 1}));
  EXPECT_EQ(cutByTime(small, link, 2), (llvm::SmallVector<unsigned>{1, 1}));
  const Link taking{1e-5, 8e-9, 1e-4};
  EXPECT_EQ(cutByTime(large, taking, 2), (llvm::SmallVector<unsigned>{2, 1}));
  EXPECT_EQ(cutByTime(small, taking, 2), (llvm::SmallVector<unsigned>{2}));
}

// Behind the last gradient nothing is left to compute: its bucket is small, however slow a
// reduction is to begin.
TEST(Buckets, LastOneIsSmall) {
  const int64_t mib = 1 << 20;
  std::vector<FinishedGradient> gradients(10, {mib, 1e-3});
  llvm::SmallVector<unsigned> found = cutByTime(gradients, {1.0, 1e-9});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_LE(found.back(), 4u);
  gradients.back().bytes = 100 * mib;
  EXPECT_EQ(cutByTime(gradients, {1.0, 1e-9}), (llvm::SmallVector<unsigned>{9, 1}));
}

TEST(Buckets, BySizeHoldAtMostSoManyBytes) {
  std::vector<FinishedGradient> gradients{{10, 0}, {20, 0}, {30, 0}, {100, 0}, {5, 0}, {5, 0}};
  EXPECT_EQ(cutBySize(gradients, 60), (llvm::SmallVector<unsigned>{3, 1, 2}));
  EXPECT_EQ(cutBySize(gradients, 1), (llvm::SmallVector<unsigned>(6, 1)));
  EXPECT_EQ(cutBySize(gradients, 1000), (llvm::SmallVector<unsigned>{6}));
}

TEST(Buckets, NothingIsCutIntoNothing) {
  EXPECT_TRUE(cutByTime({}, {}).empty());
  EXPECT_TRUE(cutBySize({}, 1).empty());
}
