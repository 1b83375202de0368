// The time stamps of all ranks, by the clock of rank 0.
//
// Threads: the one that trains; all ranks call the same in the same order.
#ifndef DLC_RUNTIME_COLLECTIVES_RANKTIMELINES_H
#define DLC_RUNTIME_COLLECTIVES_RANKTIMELINES_H

#include "dlc/timeline.h"
#include "runtime/Collectives/Transport.h"

#include <functional>
#include <string>
#include <vector>

namespace dlc::runtime {

/// How far the clock of this rank is ahead of that of rank 0, in nanoseconds.
struct ClockReading {
  /// When that was measured, by this rank's clock.
  int64_t at;
  int64_t ahead;
  /// The most that it may be wrong by: half of the fastest exchange (Cristian 1989).
  int64_t error;
};

/// Compares `clock` of all ranks by a number of exchanges with rank 0.
Result<ClockReading> compareClocks(Transport &ranks,
                                   const std::function<int64_t()> &clock = steadyNanoseconds);

/// The time of rank 0 at `time` of this rank, whose clock runs evenly between two readings.
int64_t timeOfRank0(int64_t time, const ClockReading &first, const ClockReading &last);

struct RankTimeline {
  std::vector<Span> spans;
  /// Of the rank's own transport; see Transport::processorSeconds().
  double transportSeconds = 0;
  /// The most that its times may be off; 0 of rank 0.
  int64_t error = 0;
};

/// On rank 0 what all ranks noted, by its clock; on others nothing. `first` was read before the
/// first span. Fails where one of them has lost spans.
Result<std::vector<RankTimeline>> gatherTimelines(Transport &ranks, const Timeline &timeline,
                                                  const ClockReading &first);

} // namespace dlc::runtime

#endif
