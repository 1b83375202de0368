// Watches in threads of one process: what each hears when another ends or stays behind. What
// follows from the time alone is in StandingsTest; here no time passes that matters.
#include "runtime/Collectives/Watch.h"
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Collectives/WatchAddress.h"
#include "runtime/Collectives/WatchRanks.h"
#include "runtime/Core/Support.h"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
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
  WatchOptions options(unsigned rank, unsigned ranks, unsigned above) {
    WatchOptions all = options(rank, ranks);
    all.above = above;
    return all;
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

/// Rank 0, and two machines of which ranks 3 and 6 watch the others.
struct Tree {
  static constexpr unsigned ranks = 9;
  Heard heard[ranks];
  std::unique_ptr<Watch> watch[ranks];

  Tree() {
    watch[0] = Watch::listen(heard[0].options(0, ranks)).take();
    for (unsigned head : {3u, 6u}) {
      watch[head] = Watch::listen(heard[head].options(head, ranks), /*locally=*/true).take();
      EXPECT_TRUE(watch[head]->join(watch[0]->address()).ok());
    }
    for (unsigned rank : {1, 2, 4, 5, 7, 8}) {
      const unsigned above = rank / 3 * 3;
      watch[rank] =
          Watch::connect(heard[rank].options(rank, ranks, above), watch[above]->address()).take();
    }
  }
  /// Waits until rank 0 has heard what all of them say now.
  void settle() {
    for (const std::vector<unsigned> &level :
         std::vector<std::vector<unsigned>>{{1, 2, 4, 5, 7, 8}, {3, 6}, {0}}) {
      uint64_t ends[ranks] = {};
      for (unsigned rank : level)
        ends[rank] = watch[rank]->counts().turns + 2;
      for (unsigned rank : level)
        while (watch[rank]->counts().turns < ends[rank])
          usleep(1000);
    }
  }
  void expectAllBut(unsigned gone, const std::string &line) {
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (rank != gone)
        EXPECT_EQ(heard[rank].wait(), line) << rank;
  }
};

// Whoever ends, rank 0, one that watches others or one that watches none: all hear the same.
TEST(Watch, TellsAllOfATree) {
  for (unsigned rank : {0, 2, 6, 8}) {
    Tree tree;
    tree.watch[rank]->setStep(4);
    tree.watch[rank]->setReason("no more data");
    tree.watch[rank].reset();
    tree.expectAllBut(rank, concat("rank ", rank, " ended: no more data in step 4"));
  }
}

// Rank 0 knows who stays behind from those who watch it.
TEST(Watch, SeesWhoStaysBehindInATree) {
  Tree tree;
  tree.watch[7]->setStep(8);
  for (unsigned rank = 0; rank < Tree::ranks; ++rank)
    if (rank != 7)
      tree.watch[rank]->countStart();
  tree.settle();
  tree.watch[4]->beginWait(/*already=*/timeout + 1);
  tree.expectAllBut(Tree::ranks, "rank 7 has kept the others waiting for 3000 s in step 8");
}

TEST(Watch, LetsAllOfATreeLeave) {
  Tree tree;
  for (unsigned i : {3, 1, 0, 8, 2, 7, 6, 4, 5})
    tree.watch[i]->leave();
  for (unsigned i : {6, 0, 3, 1, 2, 4, 5, 7, 8})
    tree.watch[i].reset();
  for (Heard &heard : tree.heard)
    EXPECT_EQ(heard.failure, "");
}

/// As if the address were another machine's, with these hosts alone, if any are given.
std::string elsewhere(const Watch &watch, const std::vector<std::string> &hosts = {}) {
  WatchAddress address = *WatchAddress::parse(watch.address());
  ++address.node;
  if (!hosts.empty())
    address.hosts = hosts;
  return address.text();
}

// From other machines by whatever network there is: of several addresses the first that answers.
TEST(Watch, ConnectsByAnyNetwork) {
  const std::vector<std::vector<std::string>> all = {
      {}, {"127.0.0.1"}, {"::1"}, {"::1", "127.0.0.1"}};
  for (const std::vector<std::string> &hosts : all) {
    Three ranks(1);
    auto connected =
        Watch::connect(ranks.heard[1].options(1, 3), elsewhere(*ranks.watch[0], hosts));
    if (!connected.ok() && &hosts == &all[2])
      continue; // a machine without IPv6
    ASSERT_TRUE(connected.ok()) << connected.status().message();
    ranks.watch[1] = connected.take();
    ranks.watch[1].reset();
    EXPECT_EQ(ranks.heard[0].wait(), "rank 1 ended in step 0");
  }
}

// One who watches its own machine alone cannot be reached from another.
TEST(Watch, ListensLocally) {
  Heard heard[2];
  auto watch = Watch::listen(heard[0].options(0, 3), /*locally=*/true).take();
  EXPECT_EQ(Watch::connect(heard[1].options(1, 3), elsewhere(*watch)).status().message(),
            "ranks: rank 1 cannot reach rank 0 at any of its addresses");
  auto other = Watch::connect(heard[1].options(1, 3), watch->address());
  EXPECT_TRUE(other.ok());
  watch->leave();
}

// Each hello is answered to who says it, and what comes costs no more wake-ups than it is.
TEST(Watch, CostsWhatComes) {
  constexpr unsigned ranks = 200;
  std::vector<Heard> heard(ranks);
  std::vector<std::unique_ptr<Watch>> watches(ranks);
  watches[0] = Watch::listen(heard[0].options(0, ranks)).take();
  std::vector<std::thread> threads;
  for (unsigned rank = 1; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      watches[rank] =
          Watch::connect(heard[rank].options(rank, ranks), watches[0]->address()).take();
    });
  for (std::thread &thread : threads)
    thread.join();
  const WatchCounts counts = watches[0]->counts();
  const uint64_t turns = watches[0]->counts().turns;
  EXPECT_EQ(counts.accepted, ranks - 1);
  EXPECT_GE(counts.sent, ranks - 1);
  EXPECT_LE(counts.sent, (ranks - 1) * (1 + turns + 1));
  EXPECT_LE(counts.wakeUps, counts.accepted + counts.received + turns + 1);
  for (auto &watch : watches)
    watch->leave();
}

/// Connects from this process to a rank 0 in another, which may open `soft` files, or `hard` if it
/// asks for them, until it is refused or `ranks` are there. The other says whether it was at rest.
unsigned connectTo(rlim_t soft, rlim_t hard, unsigned ranks) {
  int address[2], done[2];
  EXPECT_EQ(pipe(address), 0);
  EXPECT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{soft, hard};
    char end;
    close(done[1]);
    setrlimit(RLIMIT_NOFILE, &limit);
    Heard heard;
    auto watch = Watch::listen(heard.options(0, ranks)).take();
    (void)!write(address[1], watch->address().data(), watch->address().size());
    close(address[1]);
    (void)!read(done[0], &end, 1);
    const WatchCounts counts = watch->counts();
    const uint64_t turns = watch->counts().turns;
    _exit(counts.wakeUps <=
                  counts.accepted + counts.refused + counts.received + turns + counts.accepted + 1
              ? 0
              : 1);
  }
  close(address[1]);
  close(done[0]);
  char text[4096];
  const ssize_t size = read(address[0], text, sizeof(text));
  std::vector<Heard> heard(ranks);
  std::vector<std::unique_ptr<Watch>> watches;
  while (watches.size() + 1 < ranks) {
    const unsigned rank = unsigned(watches.size()) + 1;
    auto connected = Watch::connect(heard[rank].options(rank, ranks),
                                    std::string_view(text, static_cast<size_t>(size)));
    if (!connected.ok())
      break;
    watches.push_back(connected.take());
  }
  for (auto &watch : watches)
    watch->leave();
  close(done[1]);
  close(address[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return unsigned(watches.size());
}

// A process that may open few files opens as many as it is allowed to; where these are not enough,
// who comes is refused at once, and rank 0 does nothing else for it.
TEST(Watch, MakesDoWithFewFiles) {
  EXPECT_EQ(connectTo(40, 200, 60), 59u);
  const unsigned few = connectTo(40, 40, 60);
  EXPECT_GT(few, 10u);
  EXPECT_LT(few, 40u);
}

/// Ranks that find each other over a transport, each on a thread; the body is called on each.
void amongWatched(unsigned count, unsigned perNode, const std::function<double(unsigned)> &patience,
                  const std::function<void(unsigned, Heard &, std::unique_ptr<Watch>)> &body) {
  std::vector<Heard> heard(count);
  std::vector<std::thread> threads;
  for (auto &transport : makeVirtualRanks(selfTransport(), count))
    threads.emplace_back([&, transport] {
      const unsigned rank = transport->rank();
      WatchOptions options = heard[rank].options(0, 0);
      options.patience = patience(rank);
      auto watched = watchRanks(*transport, std::move(options), rank / perNode);
      ASSERT_TRUE(watched.ok()) << watched.status().message();
      body(rank, heard[rank], watched.take());
    });
  for (std::thread &thread : threads)
    thread.join();
}

// Few, whom rank 0 watches all, and many, on machines of several.
TEST(WatchRanks, FindEachOther) {
  for (const auto &[count, perNode] : {std::pair{3u, 2u}, {130u, 13u}}) {
    std::atomic<unsigned> here = 0;
    amongWatched(
        count, perNode, [](unsigned) { return 3000; },
        [&, count = count](unsigned rank, Heard &heard, std::unique_ptr<Watch> watch) {
          ASSERT_TRUE(watch);
          if (rank == 0)
            EXPECT_EQ(watch->counts().accepted, count == 3 ? 2u : 12u + 9);
          here++;
          if (rank == count - 1) {
            while (here != count)
              std::this_thread::yield();
            watch->setReason("disk full");
          } else {
            EXPECT_EQ(heard.wait(), concat("rank ", count - 1, " ended: disk full in step 0"));
          }
        });
  }
}

// Where one cannot have its connection all go without, and rank 0 says so, once.
TEST(WatchRanks, GoOnUnwatched) {
  amongWatched(
      5, 1, [](unsigned rank) { return rank == 2 || rank == 4 ? 0 : 3000; },
      [](unsigned rank, Heard &heard, std::unique_ptr<Watch> watch) {
        EXPECT_FALSE(watch);
        EXPECT_EQ(heard.failure, "");
        if (rank != 0) {
          EXPECT_EQ(heard.warning, "");
          return;
        }
        EXPECT_TRUE(heard.warning.starts_with(
            "ranks: rank 2 cannot reach rank 0 at any of its addresses, port "))
            << heard.warning;
        EXPECT_TRUE(heard.warning.ends_with(
            ", and 1 other has trouble; the ranks go on unwatched: of one that ends or stands "
            "still they hear from MPI alone"))
            << heard.warning;
      });
}

} // namespace
