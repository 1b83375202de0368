// Watches in threads of one process: what each hears when another ends or stays behind. What
// follows from the time alone is in StandingsTest; here no time passes that matters.
#include "runtime/Collectives/Watch.h"
#include "runtime/Core/Support.h"

#include <condition_variable>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::runtime;

namespace {

/// Longer than any test takes, however busy the machine.
constexpr double timeout = 3000;

/// What one watch said.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  std::string failure, warning;

  WatchOptions options(unsigned rank, unsigned ranks) {
    auto say = [this](std::string &where, std::string_view text) {
      std::lock_guard lock(mutex);
      where += text;
      changed.notify_all();
    };
    return {rank, ranks, timeout,
            [=, this](const Status &status) { say(failure, status.message()); },
            [=, this](std::string_view line) { say(warning, line); }};
  }
  std::string wait(std::string Heard::*what = &Heard::failure) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !(this->*what).empty(); });
    return this->*what;
  }
};

/// Three ranks.
struct Three {
  Heard heard[3];
  std::unique_ptr<Watch> watch[3];

  explicit Three(unsigned here = 3) {
    watch[0] = Watch::listen(heard[0].options(0, 3)).take();
    for (unsigned i = 1; i < here; ++i)
      watch[i] = Watch::connect(heard[i].options(i, 3), watch[0]->address()).take();
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

// A process that is killed says nothing, but its connection ends.
TEST(Watch, SeesAKilledProcess) {
  Three ranks(2);
  ranks.watch[0]->setStep(5);
  const pid_t child = fork();
  if (child == 0) {
    Heard heard;
    auto watch = Watch::connect(heard.options(2, 3), ranks.watch[0]->address());
    raise(SIGKILL);
  }
  for (unsigned i : {0, 1})
    EXPECT_EQ(ranks.heard[i].wait(), "rank 2 ended in step 5");
  waitpid(child, nullptr, 0);
}

// A rank that waits for rank 0, which has started fewer collectives; it tells all of them.
TEST(Watch, SeesWhoStaysBehind) {
  Three ranks;
  ranks.watch[0]->setStep(8);
  ranks.watch[2]->countStart();
  ranks.watch[2]->beginWait(/*already=*/timeout + 1);
  for (Heard &heard : ranks.heard)
    EXPECT_EQ(heard.wait(), "rank 0 has kept the others waiting for 3000 s in step 8");
}

// That all wait is known when each of them has said so.
TEST(Watch, SeesThatTheNetworkStandsStill) {
  Three ranks;
  ranks.watch[0]->setStep(9);
  ranks.watch[0]->beginWait(/*already=*/timeout * 2 / 3);
  for (unsigned i : {1, 2})
    ranks.watch[i]->beginWait(/*already=*/timeout / 2);
  EXPECT_EQ(ranks.heard[0].wait(&Heard::warning), "step 9: all ranks wait for the network");
}

// Whoever else connects is sent away, and disturbs nothing.
TEST(Watch, IgnoresStrangers) {
  Three ranks;
  const std::string address = ranks.watch[0]->address();
  Heard stranger;
  EXPECT_FALSE(Watch::connect(stranger.options(1, 3), "1" + address).ok());
  EXPECT_EQ(ranks.heard[0].failure, "");
  EXPECT_FALSE(Watch::connect(stranger.options(1, 3), "1 1 127.0.0.1").ok());
}

} // namespace
