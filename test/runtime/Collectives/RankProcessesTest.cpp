// What is said of ranks that did not start.
#include "runtime/Collectives/RankProcesses.h"

#include <gtest/gtest.h>

using namespace dlc::runtime;

namespace {

const RankProcesses here = {
    {0, {"dlc-run"}}, {1, {"dlc-run", /*stopped=*/true}}, {3, {"sleep"}}, {4, {"dlc-run"}}};

TEST(RankProcesses, NamesWhoIsMissing) {
  EXPECT_EQ(describeMissing(here, 0, 5, /*allAreHere=*/true),
            ": rank 1 is stopped, rank 2 has ended, rank 3 runs sleep");
}

// Who is not here may be elsewhere.
TEST(RankProcesses, KnowsThisMachineOnly) {
  EXPECT_EQ(describeMissing(here, 4, 9, /*allAreHere=*/false),
            ": rank 1 is stopped, rank 3 runs sleep");
}

// Where all are there, or a system does not tell, nothing is said.
TEST(RankProcesses, SaysNothingItDoesNotKnow) {
  EXPECT_EQ(describeMissing({{0, {"dlc-run"}}, {1, {"dlc-run"}}}, 0, 2, true), "");
  EXPECT_EQ(describeMissing({}, 0, 2, true), "");
}

} // namespace
