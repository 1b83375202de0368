// What a log holds of a run.
#include "tools/dlc-run/Progress.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace dlc::runtime::tool;
using namespace std::chrono_literals;

namespace {

/// What is printed of two epochs of twenty steps that take `step` each.
std::string logOf(std::chrono::seconds step) {
  ProgressLine::Clock::time_point time;
  testing::internal::CaptureStdout();
  ProgressLine line(/*plain=*/true, 10s, [&] { return time; });
  for (const char *epoch : {"first", "second"}) {
    for (uint64_t done = 1; done <= 20; ++done) {
      time += step;
      line.update(epoch, done, 20, "text", 0);
    }
    line.finish("done");
  }
  return testing::internal::GetCapturedStdout();
}

// Tenths are lines where they take ten seconds; the last one would say what the epoch's line says.
TEST(Progress, WritesALineOfWhatTakesLong) {
  EXPECT_EQ(logOf(0s), "done\ndone\n");
  EXPECT_EQ(logOf(2s), "first  6/20  text\nfirst  12/20  text\nfirst  18/20  text\ndone\n"
                       "second  6/20  text\nsecond  12/20  text\nsecond  18/20  text\ndone\n");
  const std::string slow = logOf(100s);
  EXPECT_TRUE(slow.starts_with("first  2/20  text\nfirst  4/20  text\n")) << slow;
  EXPECT_EQ(std::ranges::count(slow, '\n'), 2 * (9 + 1));
}

} // namespace
