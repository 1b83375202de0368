// Three ranks in one thread, at times that the tests make up: who is said to have failed.
#include "runtime/Collectives/Standings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace dlc::runtime;

namespace {

constexpr double timeout = 2;

/// Ranks that hear each other at once: rank 0 hears all, the others rank 0.
struct Three {
  Standings ranks[3] = {{0, timeout}, {1, timeout}, {2, timeout}};
  double now = 1000;
  /// What rank 0 warned of, and what each rank takes for a failure.
  std::string warning, failures[3];

  Three() {
    for (unsigned from : {0, 1, 2})
      send(from);
  }
  void send(unsigned from) {
    for (unsigned to : {0, 1, 2})
      if (to != from && (to == 0 || from == 0))
        ranks[to].hear(ranks[from].own(now), now);
  }
  void turn(unsigned rank) {
    ranks[rank].beginTurn(now);
    send(rank);
    const Standings::Verdict verdict = ranks[rank].judge(now);
    failures[rank] += verdict.failure;
    warning += verdict.warning;
  }
  /// A turn of each that is not stopped, every interval.
  void pass(double seconds, const std::set<unsigned> &stopped = {}) {
    for (double end = now + seconds; now < end; now += Standings::interval)
      for (unsigned rank : {0, 1, 2})
        if (!stopped.contains(rank))
          turn(rank);
  }
  void expectNoFailure() const {
    for (const std::string &failure : failures)
      EXPECT_EQ(failure, "");
  }
};

// Who is heard of at least once in the timeout is there.
TEST(Standings, KeepsWhoIsHeardOf) {
  Three three;
  three.pass(10 * timeout);
  three.expectNoFailure();
  EXPECT_EQ(three.warning, "");
}

// A process that is stopped says nothing more; the others go on. Rank 0 knows the step that it is
// in by what it said, or by its own.
TEST(Standings, SeesWhoIsSilent) {
  for (uint64_t own : {4, 6}) {
    Three three;
    three.ranks[0].setStep(own);
    three.ranks[2].setStep(5);
    three.pass(1);
    three.pass(timeout, {2});
    three.expectNoFailure();
    three.turn(0);
    EXPECT_EQ(three.failures[0], "rank 2 has not been heard of for 2 s in step " +
                                     std::to_string(std::max(own, uint64_t(5))));
    EXPECT_EQ(three.failures[1], "");
  }
}

// The silence of who has left means nothing.
TEST(Standings, ForgetsWhoLeft) {
  Three three;
  three.ranks[0].leave(2);
  three.pass(2 * timeout, {2});
  three.expectNoFailure();
}

// All ranks that are stopped for longer than the timeout, at any place of their turns, and go on,
// in any order, have not failed each other, nor have they waited meanwhile.
TEST(Standings, OutlivesSuspension) {
  std::vector<unsigned> order = {0, 1, 2};
  do {
    for (size_t before = 0; before <= order.size(); ++before) {
      Three three;
      for (Standings &rank : three.ranks)
        rank.beginWait(three.now);
      three.pass(timeout / 8);
      for (size_t i = 0; i < before; ++i)
        three.turn(order[i]);
      three.now += 100 * timeout;
      for (unsigned rank : order)
        three.turn(rank);
      for (const Standings &rank : three.ranks) {
        EXPECT_GE(rank.own(three.now).waited, timeout / 8);
        EXPECT_LE(rank.own(three.now).waited, timeout / 8 + Standings::interval);
      }
      EXPECT_EQ(three.warning, "");
      for (Standings &rank : three.ranks)
        rank.endWait();
      three.pass(2 * timeout);
      three.expectNoFailure();
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// What is heard, or begun, when the process goes on, but before its turn, is not moved into the
// future: who falls silent then is noticed in time.
TEST(Standings, SeesWhoIsSilentBehindASuspension) {
  Three three;
  three.pass(1);
  three.now += 100 * timeout;
  three.send(2);
  three.pass(timeout + Standings::interval, {2});
  three.expectNoFailure();
  three.turn(0);
  EXPECT_EQ(three.failures[0], "rank 2 has not been heard of for 2 s in step 0");
}

// A busy machine is no suspension: silence counts where turns come a little late.
TEST(Standings, SeesWhoIsSilentInLateTurns) {
  Three three;
  for (double end = three.now + timeout; three.now < end; three.now += 0.9)
    for (unsigned rank : {0, 1})
      three.turn(rank);
  three.expectNoFailure();
  three.turn(0);
  EXPECT_EQ(three.failures[0], "rank 2 has not been heard of for 2 s in step 0");
}

// Rank 0 warns of others; of rank 0, if it is silent, rank 1 does, and once.
TEST(Standings, WarnsOfRank0) {
  Three three;
  three.ranks[1].setStep(6);
  three.pass(1);
  three.pass(timeout - Standings::interval, {0});
  EXPECT_EQ(three.warning, "step 6: nothing is heard of rank 0");
  three.expectNoFailure();
  three.pass(2 * Standings::interval);
  three.pass(timeout / 2, {0});
  EXPECT_EQ(three.warning, "step 6: nothing is heard of rank 0step 6: nothing is heard of rank 0");
}

// A rank that goes on when the others may have given it up says so, before its first turn and for
// a while behind it; not where it was a little late, and not for ever.
TEST(Standings, SaysThatItStoodStillItself) {
  Three three;
  three.pass(1);
  three.now += timeout / 4;
  EXPECT_EQ(three.ranks[0].ownPause(three.now), "");
  three.now += 7 - timeout / 4;
  EXPECT_EQ(three.ranks[0].ownPause(three.now), "rank 0 itself stood still for 7 s; ");
  three.pass(timeout / 2);
  EXPECT_EQ(three.ranks[0].ownPause(three.now), "rank 0 itself stood still for 7 s; ");
  three.pass(timeout);
  EXPECT_EQ(three.ranks[0].ownPause(three.now), "");
}

// Ranks that wait for one that does not come say so, once, then give up.
TEST(Standings, SeesWhoStaysBehind) {
  Three three;
  for (unsigned i : {0, 2}) {
    three.ranks[i].setStep(9);
    three.ranks[i].countStart();
    three.ranks[i].beginWait(three.now);
  }
  three.ranks[1].setStep(8);
  three.pass(timeout);
  EXPECT_EQ(three.warning, "step 9: ranks that wait: 0, 2; for rank 1, which is in step 8");
  three.expectNoFailure();
  three.pass(2 * Standings::interval);
  EXPECT_TRUE(
      three.failures[0].starts_with("rank 1 has kept the others waiting for 2 s in step 8"));
}

// Where all wait, however many collectives each has started, no rank is to blame.
TEST(Standings, SeesThatTheNetworkStandsStill) {
  for (bool alike : {false, true}) {
    Three three;
    for (Standings &rank : three.ranks) {
      rank.setStep(9);
      rank.countStart();
      rank.beginWait(three.now);
    }
    if (!alike)
      three.ranks[0].countStart();
    three.pass(timeout);
    EXPECT_EQ(three.warning, "step 9: all ranks wait for the network");
    three.expectNoFailure();
    three.pass(2 * Standings::interval);
    EXPECT_TRUE(three.failures[0].starts_with(
        "all ranks have waited for the network for 2 s, the timeout, in step 9"));
  }
}

/// Ranks 1 and 2 wait for rank 0, which is at something.
struct WaitingFor0 : Three {
  explicit WaitingFor0(Phase phase) {
    for (unsigned i : {1, 2}) {
      ranks[i].setStep(9);
      ranks[i].countStart();
      ranks[i].beginWait(now);
    }
    ranks[0].setStep(8);
    ranks[0].setPhase(phase, now);
  }
  /// Rank 0 comes as well, and the sum ends.
  void come() {
    ranks[0].setPhase(Phase::Compute, now);
    ranks[0].countStart();
    for (unsigned i : {1, 2})
      ranks[i].endWait();
  }
};

// For known work the others wait longer, and are told what it is.
TEST(Standings, WaitsForKnownWork) {
  for (Phase phase :
       {Phase::Start, Phase::Load, Phase::Evaluate, Phase::Write, Phase::Rest, Phase::Program}) {
    WaitingFor0 three(phase);
    three.pass(Standings::workPatience * timeout - 1);
    three.expectNoFailure();
    EXPECT_EQ(three.warning, "step 9: ranks that wait: 1, 2; rank 0 has been " +
                                 std::string(phaseText(phase)) + " for 1 s");
    three.come();
    three.pass(3 * timeout);
    three.expectNoFailure();
  }
}

// Not for ever.
TEST(Standings, SeesThatKnownWorkStandsStill) {
  WaitingFor0 three(Phase::Write);
  three.pass(Standings::workPatience * timeout + 3 * Standings::interval);
  EXPECT_TRUE(three.failures[0].starts_with(
      "rank 0 has kept the others waiting for 40 s in step 8, writing a file"))
      << three.failures[0];
}

// Silence is none of any work: its watch's thread speaks all the while.
TEST(Standings, SeesWhoIsSilentAtWork) {
  Three three;
  three.ranks[2].setPhase(Phase::Load, three.now);
  three.pass(1);
  three.pass(timeout + 2 * Standings::interval, {2});
  EXPECT_TRUE(three.failures[0].starts_with("rank 2 has not been heard of for 2 s in step 0"));
}

// Who is waited for behind a long work of another's is given a time of its own, also where the
// others have waited all the while, and so is the network.
TEST(Standings, BeginsAnewWithWhoIsNext) {
  WaitingFor0 three(Phase::Write);
  three.pass(10 * timeout);
  three.ranks[0].setPhase(Phase::Compute, three.now);
  three.pass(timeout - Standings::interval);
  three.ranks[0].countStart();
  three.ranks[0].beginWait(three.now);
  three.pass(timeout - Standings::interval);
  three.expectNoFailure();
  three.pass(3 * Standings::interval);
  EXPECT_TRUE(three.failures[0].starts_with(
      "all ranks have waited for the network for 2 s, the timeout, in step 9"))
      << three.failures[0];
}

// A summary of parts is that of all of them, in whatever order they are taken together.
TEST(Standings, SummariesAddUp) {
  const Standing all[] = {{0, Phase::Compute, 5, 9, 3, 1},
                          {1, Phase::Write, 4, 8, 0, 7},
                          {2, Phase::Compute, 5, 8, 2, 2},
                          {3, Phase::Load, 5, 10, 3, 1}};
  std::vector<unsigned> order = {0, 1, 2, 3};
  do {
    Summary first, second, sum;
    for (unsigned i : {0, 1})
      first.add(Summary(all[order[i]]));
    for (unsigned i : {2, 3})
      second.add(Summary(all[order[i]]));
    sum.add(first);
    sum.add(second);
    EXPECT_EQ(sum.ranks, 4u);
    EXPECT_EQ(sum.waiting, 3u);
    EXPECT_EQ(sum.last.rank, 1u) << "who does not wait comes before rank 2";
    EXPECT_EQ(sum.longest.rank, 0u);
    EXPECT_EQ(sum.first, 10u);
    EXPECT_EQ(sum.shortest, 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Of many, which speak for others, it is said how many wait.
TEST(Standings, CountsMany) {
  Standings root(0, timeout);
  root.setStep(3);
  for (double now = 1000; now < 1000 + timeout; now += Standings::interval) {
    Summary node;
    for (unsigned rank = 64; rank < 128; ++rank)
      node.add(Summary(
          Standing{rank, Phase::Compute, 3, rank == 70 ? 4u : 5u, rank == 70 ? 0 : now - 999.9}));
    root.hear({64, Phase::Compute, 3, 5, now - 999.9}, node, now);
    root.beginTurn(now);
    if (now == 1000) {
      for (int i = 0; i < 5; ++i)
        root.countStart();
      root.beginWait(now);
    }
    const Standings::Verdict verdict = root.judge(now);
    EXPECT_EQ(verdict.failure, "");
    if (!verdict.warning.empty())
      EXPECT_EQ(verdict.warning, "step 3: 64 of 65 ranks wait; for rank 70, which is in step 3");
  }
}

} // namespace
