// What a rank does with what it hears of others: whom it tells, and what it takes for a failure.
//
// Ranks are a tree (WatchTree.h). Each says in every turn to the one above it how it stands and how
// those below it do, and now and then to those below it that it is there. Who finds that one below
// it has ended or fallen silent reports it upwards, and rank 0 tells all: so they hear one and the
// same verdict, of several the first that has come there. Who finds so of the one above it, or
// hears no verdict on its report, has nobody to ask, and gives the verdict to those below it
// itself.
//
// Knows no clock and no connection. Threads: as Standings; leave() may be called by any.
#ifndef DLC_RUNTIME_COLLECTIVES_WATCHER_H
#define DLC_RUNTIME_COLLECTIVES_WATCHER_H

#include "runtime/Collectives/Standings.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace dlc::runtime {

/// What goes over a connection: always all of it, hosts have one byte order.
struct WatchMessage {
  enum class Kind : uint32_t {
    Hello,   ///< who connects
    Welcome, ///< and is meant
    Beat,    ///< is there
    Ending,  ///< is about to end, for the reason that `text` says, if it does
    Report,  ///< to the one above: what has happened
    Verdict, ///< from the one above: what has happened
    Bye      ///< is done, and all is well
  };
  uint64_t token = 0;
  Kind kind = Kind::Beat;
  uint32_t reserved = 0;
  Standing own;
  /// Of Beat to the one above: the sender, and all for whom it speaks.
  Summary all;
  char text[256] = {};

  void setText(std::string_view what);
  std::string_view textView() const;
};

class Watcher {
public:
  /// Seconds that a report may be without a verdict.
  static constexpr double verdictPatience = 1;

  struct Place {
    unsigned rank = 0;
    /// Who watches it; of rank 0 itself.
    unsigned above = 0;
    bool warnsOfRank0 = false;
  };
  struct Output {
    std::function<void(const WatchMessage &)> sendUp, sendDown;
    std::function<void(const std::string &)> onFailure, onWarning;
  };
  Watcher(const Place &place, double timeout, Output output)
      : place(place), downInterval(std::min(1.0, timeout / 8)), output(std::move(output)),
        standings(place.rank, timeout, place.warnsOfRank0) {}

  Standings &own() { return standings; }
  /// Without a token.
  WatchMessage message(WatchMessage::Kind kind, double now) const;

  /// Another is connected, and watched from now on.
  void meet(unsigned other, double now);
  void hear(unsigned from, const WatchMessage &message, double now);
  /// The connection ended.
  void lose(unsigned other, double now);
  bool knows(unsigned other) const { return met.contains(other); }
  /// To be called once in an interval.
  void turn(double now);
  /// From now on the end of others is none of a failure.
  void leave() { leaving = true; }
  bool hasLeft() const { return leaving; }
  bool hasFailed() const { return failed; }

private:
  bool isRoot() const { return place.rank == 0; }
  void part(unsigned other);
  void find(unsigned other, uint64_t step, std::string_view what, double now);
  void find(unsigned other, std::string what, double now);
  void report(std::string what, double now);
  void decide(std::string_view what, double now);

  const Place place;
  /// Seconds until those below hear again that this rank is there.
  const double downInterval;
  double nextDown = -std::numeric_limits<double>::infinity();
  const Output output;
  Standings standings;
  /// Those that are connected and have not said that they go.
  std::set<unsigned> met;
  /// What was reported, and when.
  struct Pending {
    std::string what;
    double since;
  };
  std::optional<Pending> pending;
  std::atomic<bool> leaving = false;
  bool failed = false;
};

} // namespace dlc::runtime

#endif
