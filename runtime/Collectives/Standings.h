// How far the ranks of a run are, and what follows from it: that one stands still, or the network.
//
// A rank hears some others, each of which speaks for itself and for those that it hears in turn
// (Watcher.h); rank 0 so hears of all.
//
// Knows no clock and no connection: each function is given the time, in seconds since whenever.
//
// Threads: what is said of the own rank may be said by any thread; all else is of one thread.
#ifndef DLC_RUNTIME_COLLECTIVES_STANDINGS_H
#define DLC_RUNTIME_COLLECTIVES_STANDINGS_H

#include "runtime/Collectives/Phase.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

namespace dlc::runtime {

/// What a rank says of itself.
struct Standing {
  uint32_t rank = 0;
  Phase phase = Phase::Compute;
  uint64_t step = 0;
  uint64_t started = 0; ///< collectives
  double waited = 0;    ///< seconds, for the last of them; 0 where it does not wait
  /// Seconds for which the phase has lasted.
  double inPhase = std::numeric_limits<double>::infinity();
};

/// What several ranks say of themselves, in short. Of any parts of the ranks, taken together in any
/// order, it is the same.
struct Summary {
  uint32_t ranks = 0, waiting = 0;
  /// Who has started the fewest collectives, of these one that does not wait; who has waited
  /// longest. Of several the one with the lowest number.
  Standing last, longest;
  /// The most collectives that one has started, and the shortest time that one has waited.
  uint64_t first = 0;
  double shortest = 0;

  Summary() = default;
  explicit Summary(const Standing &one);
  void add(const Summary &other);
  /// Those that wait go on waiting, and all stay at what they are at.
  void pass(double seconds);
};

class Standings {
public:
  /// Seconds from one turn to the next.
  static constexpr double interval = 0.25;
  /// How many times as long as for a rank that computes the others wait for one at known work.
  static constexpr double workPatience = 20;

  /// `timeout`: seconds of silence, or of waiting for a rank that computes, until it counts as
  /// failed. A third of it is worth a warning. One rank that hears rank 0 warns of its silence.
  Standings(unsigned rank, double timeout, bool warnsOfRank0)
      : rank(rank), timeout(timeout), warnsOfRank0(warnsOfRank0) {}
  Standings(unsigned rank, double timeout) : Standings(rank, timeout, rank == 1) {}

  // Of the own rank.
  void setStep(uint64_t number) { step = number; }
  void setPhase(Phase next, double now);
  void countStart() { ++started; }
  void beginWait(double now) { waitingSince = now; }
  void endWait() { waitingSince = 0; }
  Standing own(double now) const;

  /// Of another, which is watched from now on, and of all that it speaks for.
  void hear(const Standing &standing, const Summary &all, double now);
  void hear(const Standing &standing, double now) { hear(standing, Summary(standing), now); }
  /// Its silence means nothing any more.
  void leave(unsigned other) { others.erase(other); }
  /// Ranks go from step to step together, so one that said little lately is where this one is.
  uint64_t stepOf(unsigned other) const;
  /// The own rank, and those that others but `without` speak for.
  Summary all(double now, std::optional<unsigned> without = {}) const;

  /// To be called once in an interval. Where it is called much later this process stood still
  /// itself, as when a whole job is suspended: it could hear nobody, and waited for nobody.
  void beginTurn(double now);

  /// "rank 0 itself stood still for 7 s; ", where it did a moment ago, and for so long that the
  /// others may have given it up: in front of what it finds then. Else empty.
  std::string ownPause(double now) const;

  /// One line each, or empty; of a failure that is silence, whose it is.
  struct Verdict {
    std::string failure, warning;
    std::optional<unsigned> silent = {};
  };
  /// Rank 0 judges who keeps the others waiting; any rank, of whom it hears nothing.
  Verdict judge(double now);

private:
  struct Other {
    Standing last;
    Summary all;
    double heard = 0;
  };
  /// Whom the others wait for.
  struct Blame {
    unsigned rank;
    uint64_t started;
    Phase phase;
    double since;
    bool warned = false;
  };

  double patienceWith(Phase phase) const {
    return phase == Phase::Compute ? timeout : workPatience * timeout;
  }
  Verdict findSilence(double now) const;
  std::string warnOfRank0(double now);
  Verdict findStall(double now);
  Verdict judgeNetwork(const Summary &all);
  Verdict judgeLast(const Summary &all, double now);
  std::string whoWaits(const Summary &all, double now) const;
  bool isSilent(const Other &other, double now) const;

  const unsigned rank;
  const double timeout;
  const bool warnsOfRank0;
  std::atomic<uint64_t> step = 0, started = 0;
  std::atomic<double> waitingSince = 0;
  std::atomic<Phase> phase = Phase::Compute;
  std::atomic<double> phaseSince = -std::numeric_limits<double>::infinity();
  std::map<unsigned, Other> others;
  std::optional<double> lastTurn;
  /// How long the last pause was, and when it was over.
  double pause = 0, resumed = -std::numeric_limits<double>::infinity();
  bool warnedOfRank0 = false;
  std::optional<Blame> blame;
  /// Collectives that were started when the network was last warned of.
  uint64_t warnedAt = UINT64_MAX;
};

} // namespace dlc::runtime

#endif
