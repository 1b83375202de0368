// Whole jobs in one thread, at times that the test makes up: ranks that train, the tree of those
// that watch them, and connections that take some time. In each something happens to a rank, or to
// all, or nothing does; the job then ends well, or each of its ranks says once, and rightly, why
// not.
#include "runtime/Collectives/Watcher.h"
#include "runtime/Collectives/WatchTree.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <array>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <vector>

using namespace dlc::runtime;
using Kind = WatchMessage::Kind;

namespace {

/// Seconds: of silence; from one moment of a job to the next.
constexpr double timeout = 4, moment = 0.05;

/// What may happen.
enum class Event {
  Nothing,
  Kill,
  End,          ///< with a reason
  Stop,         ///< for ever
  Hang,         ///< in a kernel
  HangAtWork,   ///< where others wait longer
  SlowWork,     ///< not as long
  SlowKernel,   ///< and less than the timeout
  ShortStops,   ///< of several ranks, also one behind the other
  Suspend,      ///< of all ranks, for any time
  StuckNetwork, ///< no sum ends any more
  Count
};

/// What a rank does next.
struct Action {
  enum class Kind { Work, Start, Wait } kind;
  Phase phase = Phase::Compute;
  double seconds = 0;
  uint64_t sum = 0; ///< waited for
  uint64_t step = 0;
};

class Job {
public:
  explicit Job(unsigned seed) : random(seed), event(Event(seed % unsigned(Event::Count))) {
    const unsigned count = between(2, 24);
    const unsigned most = std::array{2u, 3u, 5u, 64u}[between(0, 3)];
    const unsigned perNode = between(1, 6);
    std::vector<uint64_t> nodes;
    for (unsigned rank = 0; rank < count; ++rank)
      nodes.push_back(rank / perNode);
    watchers = watchersOf(nodes, most);
    ranks = std::vector<Rank>(count);
    victim =
        event == Event::Suspend || event == Event::StuckNetwork ? count : between(0, count - 1);
    when = now + uniform(0.5, 6);
    for (unsigned rank = 0; rank < count; ++rank)
      begin(rank);
    for (unsigned rank = 1; rank < count; ++rank) {
      ranks[rank].watcher->meet(watchers[rank], now);
      ranks[watchers[rank]].watcher->meet(rank, now);
    }
  }

  void run() {
    const double end = now + 400 * timeout;
    while (now < end && std::ranges::any_of(ranks, [](const Rank &rank) { return rank.lives(); })) {
      now += moment;
      if (!happened && now >= when)
        happen();
      endSums();
      for (unsigned rank = 0; rank < ranks.size(); ++rank)
        live(rank);
    }
    check();
  }

private:
  struct Letter {
    double at;
    unsigned from;
    WatchMessage message;
    bool last = false; ///< of the connection, and no message
  };
  struct Rank {
    std::unique_ptr<Watcher> watcher;
    std::deque<Action> actions;
    std::vector<Letter> inbox;
    double workEnds = 0, nextTurn = 0, resumes = 0, exits = 0;
    uint64_t started = 0;
    bool working = false, waits = false;
    /// The process is gone; it is stopped until `resumes`.
    bool gone = false, killed = false, left = false;
    std::vector<std::string> failures, warnings;
    bool lives() const { return !gone && !killed; }
  };

  unsigned between(unsigned least, unsigned most) {
    return std::uniform_int_distribution<unsigned>(least, most)(random);
  }
  double uniform(double least, double most) {
    return std::uniform_real_distribution<>(least, most)(random);
  }

  void begin(unsigned number) {
    Rank &rank = ranks[number];
    const Watcher::Place place{number, watchers[number],
                               number != 0 && watchers[number] == 0 && firstBelow0() == number};
    rank.watcher = std::make_unique<Watcher>(
        place, timeout,
        Watcher::Output{
            [this, number](const WatchMessage &message) { post(number, message, true, false); },
            [this, number](const WatchMessage &message) { post(number, message, false, true); },
            [&rank](const std::string &text) { rank.failures.push_back(text); },
            [&rank](const std::string &line) { rank.warnings.push_back(line); }});
    rank.watcher->own().setPhase(Phase::Start, now);
    rank.nextTurn = now + uniform(0, Standings::interval);
    plan(rank, number);
  }
  unsigned firstBelow0() const {
    return unsigned(std::find(watchers.begin() + 1, watchers.end(), 0u) - watchers.begin());
  }

  /// Loads, then steps of two sums each, one of them started before the other is waited for; now
  /// and then an evaluation, and a checkpoint of rank 0's.
  void plan(Rank &rank, unsigned number) {
    uint64_t sums = 0;
    const auto work = [&](Phase phase, double most, uint64_t step) {
      rank.actions.push_back({Action::Kind::Work, phase, uniform(0, most), 0, step});
    };
    const auto start = [&](uint64_t step) {
      rank.actions.push_back({Action::Kind::Start, {}, 0, 0, step});
      return sums++;
    };
    const auto wait = [&](uint64_t sum, uint64_t step) {
      rank.actions.push_back({Action::Kind::Wait, {}, 0, sum, step});
    };
    work(Phase::Load, 3 * timeout, 0);
    wait(start(0), 0);
    for (uint64_t step = 1; step <= 40; ++step) {
      work(Phase::Load, 0.1, step);
      work(Phase::Compute, 0.3, step);
      const uint64_t first = start(step);
      work(Phase::Compute, 0.3, step);
      const uint64_t second = start(step);
      wait(first, step);
      wait(second, step);
      if (step % 10 == 0) {
        work(Phase::Evaluate, 0.5, step);
        wait(start(step), step);
      }
      if (step % 10 == 5 && number == 0)
        work(Phase::Write, 2 * timeout, step);
    }
    wait(start(40), 40);
  }

  /// Connections are in order, and take up to 0.2 s.
  void post(unsigned from, const WatchMessage &message, bool up, bool down, bool last = false) {
    for (unsigned to = 0; to < ranks.size(); ++to) {
      const bool isAbove = from != 0 && watchers[from] == to;
      const bool isBelow = to != 0 && watchers[to] == from;
      if ((!isAbove || !up) && (!isBelow || !down))
        continue;
      double &at = arrivals[{from, to}];
      at = std::max(at, now + uniform(0, 0.2));
      ranks[to].inbox.push_back({at, from, message, last});
    }
  }
  void close(unsigned rank) { post(rank, {}, true, true, /*last=*/true); }

  void happen() {
    happened = true;
    switch (event) {
    case Event::Kill:
      ranks[victim].killed = true;
      return close(victim);
    case Event::End: {
      WatchMessage ending = ranks[victim].watcher->message(Kind::Ending, now);
      ending.setText("disk full");
      post(victim, ending, true, true);
      ranks[victim].killed = true;
      return close(victim);
    }
    case Event::Stop:
      ranks[victim].resumes = 1e9;
      ranks[victim].killed = true;
      return;
    case Event::Hang:
      return stretch(Phase::Compute, 1e9);
    case Event::HangAtWork:
      return stretch(workOfVictim(), 1e9);
    case Event::SlowWork:
      return stretch(workOfVictim(), uniform(1, 0.9 * Standings::workPatience) * timeout);
    case Event::SlowKernel:
      return stretch(Phase::Compute, uniform(0.5, 0.8) * timeout);
    case Event::ShortStops:
      for (unsigned i = 0; i < std::min<size_t>(3, ranks.size()); ++i)
        stops.push_back({now + i * uniform(0, timeout), (victim + i) % unsigned(ranks.size())});
      return;
    case Event::Suspend: {
      const double until = now + uniform(0, 30) * timeout;
      for (Rank &rank : ranks)
        rank.resumes = until + uniform(0, 0.3);
      return;
    }
    case Event::StuckNetwork:
      stuck = true;
      return;
    default:
      return;
    }
  }

  Phase workOfVictim() {
    phase = std::array{Phase::Load, Phase::Evaluate, Phase::Write}[between(0, victim == 0 ? 2 : 1)];
    return phase;
  }
  /// The next work of that kind takes so long.
  void stretch(Phase which, double seconds) {
    phase = which;
    Rank &rank = ranks[victim];
    for (size_t i = rank.working; i < rank.actions.size(); ++i)
      if (Action &action = rank.actions[i];
          action.kind == Action::Kind::Work && action.phase == which) {
        action.seconds = seconds;
        return;
      }
  }

  /// Sums end when all ranks have started them.
  void endSums() {
    if (stuck)
      return;
    ended = ranks[0].started;
    for (const Rank &rank : ranks)
      ended = std::min(ended, rank.started);
  }

  void live(unsigned number) {
    Rank &rank = ranks[number];
    for (const auto &[at, who] : stops)
      if (who == number && at <= now && at > now - moment)
        rank.resumes = std::max(rank.resumes, now + uniform(0.1, 0.6) * timeout);
    if (!rank.lives() || now < rank.resumes)
      return;
    if (rank.exits != 0 && now >= rank.exits) {
      rank.gone = true;
      return close(number);
    }
    if (rank.exits == 0)
      act(rank, number);
    read(rank);
    if (now >= rank.nextTurn) {
      rank.nextTurn = now + Standings::interval + uniform(0, 0.1);
      rank.watcher->turn(now);
    }
    if (!rank.failures.empty() && rank.exits == 0)
      rank.exits = now + uniform(0, 0.5);
  }

  void read(Rank &rank) {
    if (std::ranges::none_of(rank.inbox, [&](const Letter &letter) { return letter.at <= now; }))
      return;
    std::vector<Letter> later, here;
    for (Letter &letter : rank.inbox)
      (letter.at <= now ? here : later).push_back(std::move(letter));
    rank.inbox = std::move(later);
    for (const Letter &letter : here)
      if (letter.last)
        rank.watcher->lose(letter.from, now);
      else
        rank.watcher->hear(letter.from, letter.message, now);
  }

  void act(Rank &rank, unsigned number) {
    Standings &own = rank.watcher->own();
    while (true) {
      if (rank.actions.empty()) {
        rank.left = true;
        rank.watcher->leave();
        post(number, rank.watcher->message(Kind::Bye, now), true, true);
        rank.exits = now + uniform(0, 0.5);
        return;
      }
      Action &action = rank.actions.front();
      own.setStep(action.step);
      if (action.kind == Action::Kind::Start) {
        ++rank.started;
        own.countStart();
      } else if (action.kind == Action::Kind::Wait) {
        if (ended <= action.sum) {
          if (!std::exchange(rank.waits, true))
            own.beginWait(now);
          return;
        }
        rank.waits = false;
        own.endWait();
      } else {
        if (!std::exchange(rank.working, true)) {
          own.setPhase(action.phase, now);
          rank.workEnds = now + action.seconds;
        }
        if (now < rank.workEnds)
          return;
        rank.working = false;
        own.setPhase(Phase::Compute, now);
      }
      rank.actions.pop_front();
    }
  }

  /// What each rank that goes on says, but for the step at its end; empty: nothing.
  std::vector<std::string> expected() const {
    const std::string who = concat("rank ", victim, " ");
    const std::string waits = concat(who, "has kept the others waiting for ");
    switch (event) {
    case Event::Kill:
      return {who + "ended in step "};
    case Event::End:
      return {who + "ended: disk full in step "};
    case Event::Stop:
      return {concat(who, "has not been heard of for ", timeout, " s in step "),
              concat(waits, timeout, " s in step ")};
    case Event::Hang:
      return {concat(waits, timeout, " s in step ")};
    case Event::HangAtWork:
      return {concat(waits, Standings::workPatience * timeout, " s in step ")};
    case Event::StuckNetwork:
      return {concat("all ranks have waited for the network for ", timeout,
                     " s, the timeout, in step ")};
    default:
      return {};
    }
  }

  void check() const {
    const std::vector<std::string> lines = expected();
    for (unsigned number = 0; number < ranks.size(); ++number) {
      const Rank &rank = ranks[number];
      if (rank.killed)
        continue;
      EXPECT_TRUE(rank.gone) << "rank " << number << " of " << ranks.size() << " goes on";
      EXPECT_EQ(rank.left, lines.empty());
      EXPECT_EQ(rank.failures.size(), lines.empty() ? 0u : 1u);
      for (const std::string &failure : rank.failures) {
        const auto fits = [&](const std::string &line) { return failure.starts_with(line); };
        EXPECT_TRUE(std::ranges::any_of(lines, fits)) << failure;
        EXPECT_TRUE(event != Event::HangAtWork || failure.ends_with(concat(", ", phaseText(phase))))
            << failure;
      }
      checkWarnings(rank);
    }
  }

  /// Work that takes long is called what it is.
  void checkWarnings(const Rank &rank) const {
    const std::string who = concat("rank ", victim,
                                   event == Event::SlowWork ? concat(" has been ", phaseText(phase))
                                                            : std::string(", which is in step"));
    for (const std::string &warning : rank.warnings) {
      const bool usual = warning.find("rank 0 has been writing a file") != warning.npos ||
                         warning.find("has been loading") != warning.npos;
      if (event == Event::Nothing || event == Event::Suspend)
        EXPECT_TRUE(usual) << warning;
      if (event == Event::SlowWork || event == Event::SlowKernel)
        EXPECT_TRUE(usual || warning.find(who) != warning.npos) << warning;
    }
  }

  std::mt19937_64 random;
  const Event event;
  double now = 1000, when = 0;
  bool happened = false, stuck = false;
  unsigned victim = 0;
  Phase phase = Phase::Compute;
  std::vector<std::pair<double, unsigned>> stops;
  uint64_t ended = 0;
  std::vector<unsigned> watchers;
  std::vector<Rank> ranks;
  std::map<std::pair<unsigned, unsigned>, double> arrivals;
};

TEST(Watcher, EndsAThousandJobsRightly) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Job(seed).run();
    if (HasFailure())
      return;
  }
}

} // namespace
