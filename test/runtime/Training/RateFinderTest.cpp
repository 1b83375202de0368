// Sweeps over learning rates: what they suggest, and that nothing of the run changes.
#include "runtime/Training/RateFinder.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

std::vector<RatePoint> curve(const std::vector<double> &smoothed) {
  std::vector<RatePoint> points;
  for (double value : smoothed)
    points.push_back({std::pow(10, static_cast<double>(points.size())), value, value});
  return points;
}

TEST(RateFinder, SuggestsTheSteepestDescent) {
  EXPECT_EQ(steepestRate(curve({5, 5, 4.9, 4, 2, 1.5, 1.4, 3, 9})), 1e3);
  // Neither the beginning nor the end count.
  std::vector<double> late(30, 1);
  late[0] = 100;
  late[29] = -100;
  EXPECT_EQ(steepestRate(curve(late)), std::nullopt);
  EXPECT_EQ(steepestRate(curve({1, 2, 3, 4, 5, 6})), std::nullopt);
  EXPECT_EQ(steepestRate({}), std::nullopt);
}

struct Small {
  TemporaryFolder folder;
  RunOptions options;
  Small() {
    PlanBuilder plan = smallModel();
    plan.scalars[0].scheduled = 1;
    writeFile(folder.path("small.so"), moduleWith(plan.blob()));
    writeSmallData(folder.root(), 100, 30);
    options = {.module = folder.path("small.so"),
               .device = {.threads = 1},
               .data = "idx:" + folder.root(),
               .seed = 1};
  }
  std::unique_ptr<Run> open() const { return Run::open(options).take(); }
};

std::vector<std::byte> weightsOf(const Run &run) {
  std::vector<std::byte> weights(run.weightsBytes());
  EXPECT_TRUE(run.readWeights(weights).ok());
  return weights;
}

// Each batch is trained on at its rate: the losses are those of a run that sets them by hand.
TEST(RateFinder, TrainsAtEachRate) {
  Small small;
  auto run = small.open();
  const auto before = weightsOf(*run);
  std::vector<RatePoint> heard;
  auto found =
      run->findRate({.from = 1e-3, .to = 1e3, .steps = 31, .hear = [&](const RatePoint &p) {
                       heard.push_back(p);
                     }});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->setting, "optimizer.learning_rate");
  ASSERT_EQ(heard.size(), found->points.size());
  EXPECT_EQ(weightsOf(*run), before);
  EXPECT_EQ(run->progress().step, 0u);

  struct Setter : TrainObserver {
    dlc::runtime::Run *run = nullptr;
    std::vector<double> losses;
    double rate = 1e-3;
    void onStep(const StepReport &report) override {
      losses.push_back(report.batch[0].second.number);
      rate = 1e-3 * std::pow(1e6, static_cast<double>(losses.size()) / 30);
      EXPECT_TRUE(run->set("optimizer.learning_rate", rate).ok());
    }
  } setter;
  small.options.steps = found->points.size();
  small.options.overrides = {{"optimizer.learning_rate", 1e-3}};
  auto by = small.open();
  setter.run = by.get();
  ASSERT_TRUE(by->train({&setter}).ok());
  double sum = 0;
  for (size_t i = 0; i < heard.size(); ++i) {
    EXPECT_NEAR(heard[i].loss, setter.losses[i], 1e-6) << i;
    EXPECT_NEAR(heard[i].rate, 1e-3 * std::pow(1e6, static_cast<double>(i) / 30), 1e-9);
    sum = 0.98 * sum + 0.02 * setter.losses[i];
    EXPECT_NEAR(heard[i].smoothed, sum / (1 - std::pow(0.98, i + 1.0)), 1e-6);
  }
  ASSERT_TRUE(found->suggested);
  EXPECT_GT(*found->suggested, 1e-2);
  EXPECT_LT(*found->suggested, 1e2);
  // The run itself goes on as one that has looked for no rate.
  small.options.steps = {};
  small.options.overrides = {};
  auto plain = small.open();
  ASSERT_TRUE(plain->train().ok());
  ASSERT_TRUE(run->train().ok());
  EXPECT_EQ(weightsOf(*run), weightsOf(*plain));
}

TEST(RateFinder, EndsWhereTheLossDiverges) {
  Small small;
  auto found = small.open()->findRate({.from = 1e-2, .to = 1e30, .steps = 60});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->diverged);
  EXPECT_LT(found->points.size(), 60u);
}

TEST(RateFinder, SaysWhatIsWrong) {
  Small small;
  auto run = small.open();
  auto message = [&](const RateSearchOptions &options) {
    return std::string(run->findRate(options).status().message());
  };
  EXPECT_NE(message({.from = 1, .to = 1}).find("rates from 1 to 1 make no sweep"),
            std::string::npos);
  EXPECT_NE(message({.from = 0, .to = 1}).find("make no sweep"), std::string::npos);
  EXPECT_NE(message({.from = 1, .to = HUGE_VAL}).find("make no sweep"), std::string::npos);
  EXPECT_NE(message({.steps = 9}).find("a sweep of 9 steps says nothing"), std::string::npos);
  writeSmallModule(small.folder);
  EXPECT_EQ(small.open()->findRate().status().message(),
            small.options.module + ": no setting is a learning rate above 0");
}

} // namespace
