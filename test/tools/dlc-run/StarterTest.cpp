// Children that have ended, and what mpirun says of its ranks.
#include "tools/dlc-run/Starter.h"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::runtime::tool;

namespace {

// One that has ended and was not waited for stands among the children, and does not count.
TEST(Starter, CountsLivingChildren) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_TRUE(hasLivingChildren(getpid()));
  kill(child, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(hasLivingChildren(getpid()));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(hasLivingChildren(getpid()));
}

// Open MPI 4.1's own words, with its breaks of lines.
TEST(Starter, ExplainsFailures) {
  EXPECT_EQ(explainFailure("mpirun noticed that process rank 12 with PID 0 on node vm exited on "
                           "signal 9 (Killed).\n"),
            "rank 12 ended by signal 9 (Killed)");
  EXPECT_EQ(
      explainFailure("Primary job  terminated normally, but 1 process returned\n"
                     "a non-zero exit code. Per user-direction, the job has been aborted.\n"
                     "mpirun detected that one or more processes exited with non-zero status, "
                     "thus causing\nthe job to be terminated. The first process to do so "
                     "was:\n\n  Process name: [[56549,1],3]\n  Exit code:    15\n"),
      "rank 3 ended with exit code 15");
  EXPECT_EQ(explainFailure("ORTE has lost communication with a remote daemon.\n\n"
                           "  HNP daemon   : [[7,0],0] on node head\n"
                           "  Remote daemon: [[7,0],1] on node node7\n\nThis is usually due to"),
            "host node7 is not heard of any more");
  EXPECT_EQ(explainFailure("ORTE was unable to reliably start one or more daemons.\nThis usually"),
            "launch: mpirun cannot start its daemon on each host: ssh must get there without a "
            "password, and find Open MPI");
  EXPECT_EQ(explainFailure("There are not enough slots available in the system"), "");
}

// Open MPI 5's, by PRRTE.
TEST(Starter, ExplainsFailuresOfPrrte) {
  EXPECT_EQ(
      explainFailure("prterun noticed that process rank 1 with PID 4711 on node vm exited on\n"
                     "signal 9 (Killed).\n"),
      "rank 1 ended by signal 9 (Killed)");
  EXPECT_EQ(explainFailure("   Process name: [prterun-vm-4711@1,3]\n   Exit code:    15\n"),
            "rank 3 ended with exit code 15");
}

} // namespace
