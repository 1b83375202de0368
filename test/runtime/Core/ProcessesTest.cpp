// What the system says of processes.
#include "runtime/Core/Processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::runtime;

namespace {

// A child, and a child of that, has a number of its own, however often its parent has asked.
TEST(Processes, KnowThemselves) {
  EXPECT_EQ(thisProcess(), getpid());
  EXPECT_EQ(thisProcess(), getpid());
  const pid_t child = fork();
  if (child == 0) {
    const bool own = thisProcess() == getpid() && thisProcess() == getpid();
    const pid_t grandchild = fork();
    if (grandchild == 0)
      _exit(thisProcess() == getpid() ? 0 : 1);
    int status = -1;
    waitpid(grandchild, &status, 0);
    _exit(own && status == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(thisProcess(), getpid());
}

} // namespace
