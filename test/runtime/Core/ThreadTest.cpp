// Threads and their priorities.
#include "runtime/Core/Thread.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace dlc::runtime;

namespace {

int priorityOfThread() { return getpriority(PRIO_PROCESS, 0); }

// A thread that steps back is alone in it.
TEST(Thread, StepsBack) {
  const int before = priorityOfThread();
  int within = before;
  startThread([&] {
    stepBack();
    within = priorityOfThread();
  }).join();
  EXPECT_EQ(within, std::min(before + 15, 19));
  EXPECT_EQ(priorityOfThread(), before);
}

} // namespace
