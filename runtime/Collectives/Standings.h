// How far the ranks of a run are, and what follows from it: that one stands still, or the network.
//
// Knows no clock and no connection: each function is given the time, in seconds since whenever.
//
// Threads: what is said of the own rank may be said by any thread; all else is of one thread.
#ifndef DLC_RUNTIME_COLLECTIVES_STANDINGS_H
#define DLC_RUNTIME_COLLECTIVES_STANDINGS_H

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dlc::runtime {

/// What a rank says of itself.
struct Standing {
  unsigned rank = 0;
  uint64_t step = 0;
  uint64_t started = 0; ///< collectives
  double waited = 0;    ///< seconds, for the last of them; 0 where it does not wait
};

class Standings {
public:
  /// Seconds from one turn to the next.
  static constexpr double interval = 0.25;

  /// `timeout`: seconds of silence, or of waiting for a rank, until it counts as failed. A third of
  /// it is worth a warning.
  Standings(unsigned rank, double timeout) : rank(rank), timeout(timeout) {}

  // Of the own rank.
  void setStep(uint64_t number) { step = number; }
  void countStart() { ++started; }
  void beginWait(double now) { waitingSince = now; }
  void endWait() { waitingSince = 0; }
  Standing own(double now) const;

  /// Of another, which is watched from now on.
  void hear(const Standing &standing, double now);
  /// Its silence means nothing any more.
  void leave(unsigned other) { others.erase(other); }
  /// Ranks go from step to step together, so one that said little lately is where this one is.
  uint64_t stepOf(unsigned other) const;

  /// To be called once in an interval. Where it is called much later this process stood still
  /// itself, as when a whole job is suspended: it could hear nobody, and waited for nobody.
  void beginTurn(double now);

  /// "rank 0 itself stood still for 7 s; ", where it did a moment ago, and for so long that the
  /// others may have given it up: in front of what it finds then. Else empty.
  std::string ownPause(double now) const;

  /// One line each, or empty.
  struct Verdict {
    std::string failure, warning;
  };
  /// Rank 0 judges who keeps the others waiting; any rank, of whom it hears nothing. Where that is
  /// rank 0 it is rank 1 that warns.
  Verdict judge(double now);

private:
  struct Other {
    Standing last;
    double heard = 0;
  };

  std::string findSilence(double now) const;
  std::string warnOfRank0(double now);
  Verdict findStall(double now);

  const unsigned rank;
  const double timeout;
  std::atomic<uint64_t> step = 0, started = 0;
  std::atomic<double> waitingSince = 0;
  std::map<unsigned, Other> others;
  std::optional<double> lastTurn;
  /// How long the last pause was, and when it was over.
  double pause = 0, resumed = 0;
  bool warnedOfRank0 = false;
  /// Collectives that were started when the last warning was given.
  uint64_t warnedAt = UINT64_MAX;
};

} // namespace dlc::runtime

#endif
