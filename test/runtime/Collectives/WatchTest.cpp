// Watches in threads of one process: what each hears when another ends, falls silent or stays
// behind.
#include "runtime/Collectives/Watch.h"
#include "runtime/Core/Support.h"

#include <condition_variable>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::runtime;

namespace {

/// What one watch said.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  std::string failure, warning;

  WatchOptions options(unsigned rank, unsigned ranks, double timeout) {
    auto say = [this](std::string &where, std::string_view text) {
      std::lock_guard lock(mutex);
      where += text;
      changed.notify_all();
    };
    return {rank, ranks, timeout,
            [=, this](const Status &status) { say(failure, status.message()); },
            [=, this](std::string_view line) { say(warning, line); }};
  }
  std::string wait(std::string Heard::*what = &Heard::failure, double seconds = 10) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::duration<double>(seconds),
                     [&] { return !(this->*what).empty(); });
    return this->*what;
  }
};

/// Three ranks.
struct Three {
  Heard heard[3];
  std::unique_ptr<Watch> watch[3];

  explicit Three(double timeout = 30, unsigned others = 3) {
    watch[0] = Watch::listen(heard[0].options(0, 3, timeout)).take();
    for (unsigned i = 1; i < others; ++i)
      watch[i] = Watch::connect(heard[i].options(i, 3, timeout), watch[0]->address()).take();
  }
};

// All leave, in any order, and nothing has failed.
TEST(Watch, LetsAllLeave) {
  Three ranks;
  for (unsigned i : {1, 0, 2})
    ranks.watch[i]->leave();
  for (unsigned i : {0, 2, 1})
    ranks.watch[i].reset();
  for (Heard &heard : ranks.heard)
    EXPECT_EQ(heard.failure, "");
}

// Who ends without leaving fails all others, with the reason that it gave.
TEST(Watch, TellsWhyARankEnds) {
  Three ranks;
  ranks.watch[2]->setStep(17);
  ranks.watch[2]->setReason("disk full");
  ranks.watch[2].reset();
  for (unsigned i : {0, 1})
    EXPECT_EQ(ranks.heard[i].wait(), "rank 2 ended: disk full in step 17");
}

TEST(Watch, TellsThatRank0Ends) {
  Three ranks;
  ranks.watch[0]->setStep(3);
  ranks.watch[0].reset();
  for (unsigned i : {1, 2})
    EXPECT_EQ(ranks.heard[i].wait(), "rank 0 ended in step 3");
}

// A process that is killed says nothing; one that is stopped neither, and keeps its connection.
TEST(Watch, SeesKilledAndStoppedProcesses) {
  for (int signal : {SIGKILL, SIGSTOP}) {
    Three ranks(2, 2);
    const pid_t child = fork();
    if (child == 0) {
      Heard heard;
      auto watch = Watch::connect(heard.options(2, 3, 2), ranks.watch[0]->address());
      (*watch)->setStep(5);
      // Time for the step to be heard.
      usleep(600000);
      raise(signal);
      _exit(0);
    }
    const auto start = std::chrono::steady_clock::now();
    for (unsigned i : {0, 1})
      EXPECT_EQ(ranks.heard[i].wait(), signal == SIGKILL
                                           ? "rank 2 ended in step 5"
                                           : "rank 2 has not been heard of for 2 s in step 5");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 5);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

// All ranks that are stopped for longer than the timeout, and go on, have not failed each other.
TEST(Watch, OutlivesSuspension) {
  const pid_t child = fork();
  if (child == 0) {
    Three ranks(1);
    for (auto &watch : ranks.watch)
      watch->beginWait();
    raise(SIGSTOP);
    for (auto &watch : ranks.watch)
      watch->endWait();
    const std::string failure = ranks.heard[0].wait(&Heard::failure, 1);
    _exit(failure.empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(status));
  usleep(2500000);
  kill(child, SIGCONT);
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Ranks that wait for one that does not come say so, then give up.
TEST(Watch, SeesWhoStaysBehind) {
  Three ranks(2);
  for (unsigned i : {0, 2}) {
    ranks.watch[i]->setStep(9);
    ranks.watch[i]->countStart();
    ranks.watch[i]->beginWait();
  }
  ranks.watch[1]->setStep(8);
  EXPECT_EQ(ranks.heard[0].wait(&Heard::warning),
            "step 9: ranks that wait: 0, 2; for rank 1, which is in step 8");
  for (Heard &heard : ranks.heard)
    EXPECT_EQ(heard.wait(), "rank 1 has kept the others waiting for 2 s in step 8");
}

// Where all wait, however many collectives each has started, no rank is to blame.
TEST(Watch, SeesThatTheNetworkStandsStill) {
  for (bool alike : {false, true}) {
    Three ranks(2);
    for (auto &watch : ranks.watch) {
      watch->setStep(9);
      watch->countStart();
      watch->beginWait();
    }
    if (!alike)
      ranks.watch[0]->countStart();
    EXPECT_EQ(ranks.heard[0].wait(&Heard::warning), "step 9: all ranks wait for the network");
    for (Heard &heard : ranks.heard)
      EXPECT_EQ(heard.wait(),
                "all ranks have waited for the network for 2 s, the timeout, in step 9");
  }
}

// Whoever else connects is sent away, and disturbs nothing.
TEST(Watch, IgnoresStrangers) {
  Three ranks;
  const std::string address = ranks.watch[0]->address();
  Heard stranger;
  EXPECT_FALSE(Watch::connect(stranger.options(1, 3, 2), "1" + address).ok());
  EXPECT_EQ(ranks.heard[0].failure, "");
  EXPECT_FALSE(Watch::connect(stranger.options(1, 3, 2), "1 1 127.0.0.1").ok());
}

} // namespace
