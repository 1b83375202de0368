// The curves of schedules against the rates of PyTorch's schedulers of the same names, and how
// parts follow each other.
#include "runtime/Exec/Schedule.h"

#include <gtest/gtest.h>
#include <vector>

using namespace dlc::runtime;

namespace {

using Parts = std::vector<SchedulePart>;

Parts curve(dlc_schedule_kind kind, double n, double a = 0, double b = 0, double c = 0) {
  return {{kind, false, 0, n, a, b, c, {}}};
}

struct Case {
  const char *name;
  Parts parts;
  /// PyTorch 2's rates for a base rate of 0.1, one a batch.
  std::vector<double> rates;
};

const Case cases[] = {
    {"StepLR(3, 0.5)",
     curve(DLC_SCHEDULE_STEP, 3, 0.5),
     {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125, 0.0125, 0.0125}},
    {"ExponentialLR(0.9)",
     curve(DLC_SCHEDULE_EXPONENTIAL, 1, 0.9),
     {0.1, 0.09, 0.081, 0.0729, 0.06561, 0.059049, 0.0531441, 0.04782969, 0.043046721, 0.0387420489,
      0.03486784401, 0.031381059609}},
    {"CosineAnnealingLR(12, 0.001)",
     curve(DLC_SCHEDULE_COSINE, 12, 0.01),
     {0.1, 0.0983133284013, 0.0933682574873, 0.0855017856687, 0.07525, 0.0633115427326, 0.0505,
      0.0376884572674, 0.02575, 0.0154982143313, 0.00763174251267, 0.00268667159869}},
    {"PolynomialLR(12, 2)",
     curve(DLC_SCHEDULE_POLYNOMIAL, 12, 2),
     {0.1, 0.0840277777778, 0.0694444444444, 0.05625, 0.0444444444444, 0.0340277777778, 0.025,
      0.0173611111111, 0.0111111111111, 0.00625, 0.00277777777778, 0.000694444444444}},
    {"OneCycleLR(0.1, total_steps=12)",
     curve(DLC_SCHEDULE_ONE_CYCLE, 12, 0.3, 0.04, 4e-6),
     {0.004, 0.034978965422, 0.0879285159122, 0.0994415435451, 0.0933012969841, 0.081174565395,
      0.0647378997695, 0.0462637102667, 0.0283060998209, 0.0133477530189, 0.00345669874254, 4e-07}},
    {"CyclicLR(0.01, 0.1, 3)",
     curve(DLC_SCHEDULE_CYCLIC, 3, 0.1),
     {0.01, 0.04, 0.07, 0.1, 0.07, 0.04, 0.01, 0.04, 0.07, 0.1, 0.07, 0.04}},
    {"LinearLR(0.1, 1, 5)",
     curve(DLC_SCHEDULE_WARMUP, 5, 0.1),
     {0.01, 0.028, 0.046, 0.064, 0.082, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
    // A level for each time between two falls, which is how multistep is kept.
    {"MultiStepLR([2, 5, 9], 0.1)",
     {{DLC_SCHEDULE_CONSTANT, false, 2, 0, 1, 0, 0, {}},
      {DLC_SCHEDULE_CONSTANT, false, 3, 0, 0.1, 0, 0, {}},
      {DLC_SCHEDULE_CONSTANT, false, 4, 0, 0.01, 0, 0, {}},
      {DLC_SCHEDULE_CONSTANT, false, 0, 0, 0.001, 0, 0, {}}},
     {0.1, 0.1, 0.01, 0.01, 0.01, 0.001, 0.001, 0.001, 0.001, 0.0001, 0.0001, 0.0001}},
};

TEST(Schedule, IsPyTorchs) {
  for (const Case &each : cases)
    for (size_t step = 0; step < each.rates.size(); ++step)
      EXPECT_NEAR(0.1 * scheduleFactor(each.parts, {step, 1000}), each.rates[step], 1e-11)
          << each.name << ", step " << step;
}

TEST(Schedule, IsOneWithoutParts) { EXPECT_EQ(scheduleFactor({}, {7, 10}), 1); }

// CosineAnnealingWarmRestarts(3, 2): cycles of 3, 6 and 12 batches.
TEST(Schedule, RestartsCosines) {
  const Parts parts = curve(DLC_SCHEDULE_COSINE_RESTARTS, 3, 0.2, 2);
  for (uint64_t start : {0, 3, 9, 21})
    EXPECT_NEAR(scheduleFactor(parts, {start, 1}), 1, 1e-12) << start;
  EXPECT_NEAR(scheduleFactor(parts, {6, 1}), 0.6, 1e-12);
  EXPECT_NEAR(scheduleFactor(parts, {15, 1}), 0.6, 1e-12);
  EXPECT_LT(scheduleFactor(parts, {20, 1}), 0.22);
  const Parts even = curve(DLC_SCHEDULE_COSINE_RESTARTS, 4, 0, 1);
  EXPECT_EQ(scheduleFactor(even, {8, 1}), 1);
  EXPECT_NEAR(scheduleFactor(even, {10, 1}), 0.5, 1e-12);
}

TEST(Schedule, StaysWhereACurveEnds) {
  EXPECT_NEAR(scheduleFactor(curve(DLC_SCHEDULE_COSINE, 12, 0.25), {500, 1}), 0.25, 1e-12);
  EXPECT_NEAR(scheduleFactor(curve(DLC_SCHEDULE_POLYNOMIAL, 12, 3, 0.25), {500, 1}), 0.25, 1e-12);
  EXPECT_NEAR(scheduleFactor(curve(DLC_SCHEDULE_ONE_CYCLE, 12, 0.3, 0.04, 0.25), {500, 1}), 0.25,
              1e-12);
  EXPECT_EQ(scheduleFactor(curve(DLC_SCHEDULE_WARMUP, 5, 0.1), {500, 1}), 1);
}

// A cycle whose way up is no batch long starts at its top.
TEST(Schedule, CanBeginAtTheTopOfACycle) {
  EXPECT_EQ(scheduleFactor(curve(DLC_SCHEDULE_ONE_CYCLE, 10, 0.1, 0.04, 0), {0, 1}), 1);
  EXPECT_EQ(scheduleFactor(curve(DLC_SCHEDULE_ONE_CYCLE, 1, 0.3, 0.04, 0.5), {0, 1}), 0.5);
}

// Warm up over two epochs of ten batches, then half a cosine over three, counted from its own
// start.
TEST(Schedule, RunsPartsOneAfterTheOther) {
  const Parts parts = {{DLC_SCHEDULE_WARMUP, true, 2, 2, 0.5, 0, 0, {}},
                       {DLC_SCHEDULE_COSINE, true, 0, 3, 0, 0, 0, {}}};
  EXPECT_EQ(scheduleFactor(parts, {0, 10}), 0.5);
  EXPECT_NEAR(scheduleFactor(parts, {10, 10}), 0.75, 1e-12);
  EXPECT_EQ(scheduleFactor(parts, {20, 10}), 1);
  EXPECT_NEAR(scheduleFactor(parts, {35, 10}), 0.5, 1e-12);
  EXPECT_NEAR(scheduleFactor(parts, {50, 10}), 0, 1e-12);
}

// Half an epoch of 15 batches is 7 whole ones; the eighth belongs to the next part.
TEST(Schedule, GivesABatchToOnePartOnly) {
  const Parts parts = {{DLC_SCHEDULE_CONSTANT, true, 0.5, 0, 1, 0, 0, {}},
                       {DLC_SCHEDULE_CONSTANT, false, 0, 0, 0.25, 0, 0, {}}};
  EXPECT_EQ(scheduleFactor(parts, {6, 15}), 1);
  EXPECT_EQ(scheduleFactor(parts, {7, 15}), 0.25);
}

// Two ranks have made 10 updates in two epochs, one rank would have made 20: what counts epochs
// goes on with the third, what counts updates with the eleventh. A part behind one that counts
// epochs goes by them too.
TEST(Schedule, CountsEpochsWhereRanksChange) {
  const ScheduleTime time(10, 10, 20);
  const Parts epochs = {{DLC_SCHEDULE_CONSTANT, true, 2, 0, 1, 0, 0, {}},
                        {DLC_SCHEDULE_PLATEAU, true, 0, 0, 0.5, 0, 0, "loss"}};
  EXPECT_EQ(schedulePart(epochs, time), &epochs[1]);
  EXPECT_EQ(schedulePart(epochs, {30, 10, 19}), &epochs[0]);
  EXPECT_EQ(scheduleFactor(curve(DLC_SCHEDULE_STEP, 20, 0.5), time), 1);
  EXPECT_EQ(ranksFactor({}, 4, {10, 10, 25}), 2.5);
  const Parts mixed = {{DLC_SCHEDULE_WARMUP, false, 15, 15, 0, 0, 0, {}},
                       {DLC_SCHEDULE_COSINE, true, 1, 1, 0, 0, 0, {}},
                       {DLC_SCHEDULE_STEP, false, 0, 10, 0.5, 0, 0, {}}};
  EXPECT_NEAR(scheduleFactor(mixed, time), 10.0 / 15, 1e-12);
  EXPECT_NEAR(scheduleFactor(mixed, {15, 10, 20}), 0.5, 1e-12);
  EXPECT_EQ(scheduleFactor(mixed, {15, 10, 7}), 1);
  EXPECT_EQ(scheduleFactor(mixed, {20, 10, 36}), 0.5);
}

// Goyal et al. 2017: from the rate of one rank to that of all, over five epochs, in even steps; or
// at once behind a warm-up that the model has.
TEST(Schedule, RisesToTheRateOfAllRanks) {
  EXPECT_EQ(ranksFactor({}, 4, {0, 10}), 1);
  EXPECT_EQ(ranksFactor({}, 4, {25, 10}), 2.5);
  EXPECT_EQ(ranksFactor({}, 4, {50, 10}), 4);
  EXPECT_EQ(ranksFactor({}, 4, {1000, 10}), 4);
  EXPECT_EQ(ranksFactor({}, 1, {25, 10}), 1);
  EXPECT_EQ(ranksFactor(curve(DLC_SCHEDULE_COSINE, 12, 0.01), 2, {25, 10}), 1.5);
  EXPECT_EQ(ranksFactor(curve(DLC_SCHEDULE_WARMUP, 12, 0.1), 4, {0, 10}), 4);
}

// ReduceLROnPlateau(factor=0.5, patience=1): at the second evaluation in a row that is no better
// than the best one by one part in 10,000.
TEST(Plateau, FallsWhereNothingImproves) {
  const SchedulePart part = {DLC_SCHEDULE_PLATEAU, true, 0, 0, 0.5, 1, 0, "loss"};
  Plateau plateau;
  std::vector<double> factors;
  for (double loss : {1.0, 0.9, 0.89999, 0.8, 0.85, 0.79995, 0.79994, 0.7, 0.7, 0.7, 0.7, 0.7}) {
    plateau.observe(part, loss);
    factors.push_back(plateau.factor());
  }
  EXPECT_EQ(factors, (std::vector<double>{1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125}));
}

TEST(Plateau, CanWaitForMore) {
  const SchedulePart part = {DLC_SCHEDULE_PLATEAU, true, 0, 0, 0.1, 0, 1, "accuracy"};
  Plateau plateau;
  plateau.observe(part, 0.5);
  plateau.observe(part, 0.6);
  EXPECT_EQ(plateau.factor(), 1);
  plateau.observe(part, 0.6);
  EXPECT_EQ(plateau.factor(), 0.1);
}

TEST(Plateau, IsSavedWithItsBits) {
  const SchedulePart part = {DLC_SCHEDULE_PLATEAU, true, 0, 0, 0.3, 2, 0, "loss"};
  Plateau one, two;
  for (double loss : {0.1, 0.3, 0.3, 0.3, 0.3, 0.3}) {
    one.observe(part, loss);
    ASSERT_TRUE(two.restore(one.save()).ok());
    EXPECT_EQ(two.save(), one.save());
    EXPECT_EQ(two.factor(), one.factor());
  }
  EXPECT_EQ(two.factor(), 0.3);
  for (const char *text : {"", "1", "1 2 0x1", "1 2 1p+0 1p+0 7", "1 2 x y"})
    EXPECT_FALSE(two.restore(text).ok()) << text;
}

} // namespace
