// How long a run rests, by a clock that only the test moves.
#include "runtime/Training/Throttle.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using dlc::runtime::Throttle;

namespace {

struct Machine {
  double time = 100;
  std::vector<double> sleeps;
  /// What a sleep takes longer than it was asked to.
  double late = 0;
  Throttle throttle(double share) {
    return {share, [this] { return time; },
            [this](double seconds) {
              sleeps.push_back(seconds);
              time += seconds + late;
            }};
  }
  double slept() const { return std::accumulate(sleeps.begin(), sleeps.end(), 0.0); }
};

const auto never = [] { return false; };

TEST(Throttle, RestsForWhatWasWorked) {
  Machine machine;
  Throttle quarter = machine.throttle(0.25);
  for (const double worked : {0.5, 0.01, 2.0}) {
    machine.sleeps.clear();
    machine.time += worked;
    EXPECT_NEAR(quarter.due(), 3 * worked, 1e-9);
    quarter.rest(quarter.due(), never);
    EXPECT_NEAR(machine.slept(), 3 * worked, 1e-9);
  }
}

TEST(Throttle, RestsNotForRests) {
  Machine machine;
  Throttle half = machine.throttle(0.5);
  machine.time += 1;
  half.rest(half.due(), never);
  EXPECT_EQ(half.due(), 0);
  // Nor for what was before the run.
  machine.time += 1000;
  half.begin();
  EXPECT_EQ(half.due(), 0);
}

// Sleeps that last longer than they should are not added up.
TEST(Throttle, EndsInTime) {
  Machine machine;
  machine.late = 0.01;
  Throttle half = machine.throttle(0.5);
  machine.time += 1;
  const double end = machine.time + 1;
  half.rest(half.due(), never);
  EXPECT_LE(machine.time, end + machine.late + 1e-9);
}

TEST(Throttle, EndsWhereNobodyWaits) {
  Machine machine;
  Throttle half = machine.throttle(0.5);
  machine.time += 1000;
  half.rest(half.due(), [&] { return machine.sleeps.size() == 3; });
  EXPECT_EQ(machine.sleeps.size(), 3u);
  EXPECT_LT(machine.slept(), 1);
}

TEST(Throttle, OfAllTimeRestsNever) {
  Machine machine;
  Throttle all = machine.throttle(1);
  machine.time += 10;
  all.rest(all.due(), never);
  EXPECT_TRUE(machine.sleeps.empty());
}

} // namespace
