// The factor on the learning rates, as a function of the updates made and the epochs seen.
#ifndef DLC_RUNTIME_EXEC_SCHEDULE_H
#define DLC_RUNTIME_EXEC_SCHEDULE_H

#include "dlc/context.h"

#include <cstdint>
#include <span>
#include <string>

namespace dlc::runtime {

/// When an update is made. Parts of a schedule that count updates go by `updates`. Parts that count
/// epochs, and all that come after one, go by `ofEpochs`: a run that another number of ranks began
/// has made more or fewer updates for as many epochs.
struct ScheduleTime {
  ScheduleTime(uint64_t updates, double epochUpdates)
      : ScheduleTime(updates, epochUpdates, updates) {}
  ScheduleTime(uint64_t updates, double epochUpdates, uint64_t ofEpochs)
      : updates(updates), epochUpdates(epochUpdates), ofEpochs(ofEpochs) {}

  /// Updates before this one.
  uint64_t updates;
  /// Of one epoch.
  double epochUpdates;
  /// Those that the epochs so far would have taken at `epochUpdates` each.
  uint64_t ofEpochs;
};

/// The factor for an update. The parts are those of dlc_step.schedule; none: 1. With `steps` as
/// unit each curve is that of PyTorch's scheduler of the same name, stepped with the optimizer.
/// A plateau counts as 1: its factor is the Plateau's.
double scheduleFactor(std::span<const SchedulePart> parts, const ScheduleTime &time);

/// The factor on top of it among `ranks` ranks, where rates are those of one rank's batch: the
/// number of ranks, to which it rises from 1 over the first five epochs (Goyal et al. 2017). A
/// schedule that begins with a warm-up of its own takes the place of this one.
double ranksFactor(std::span<const SchedulePart> parts, unsigned ranks, const ScheduleTime &time);

/// Whether learning rates are those of the compiled batch, and grow with the number of ranks.
bool ratesFollowBatch(const Plan &plan);

/// Writes a context's scheduled scalars, their defaults times the factor. They no longer follow the
/// module's schedule then: to time runs, by 1.
Status applyFactor(Context &context, double factor);

/// The part that holds for that update; null without parts.
const SchedulePart *schedulePart(std::span<const SchedulePart> parts, const ScheduleTime &time);

/// What a plateau remembers of the evaluations so far: PyTorch's ReduceLROnPlateau with its default
/// threshold.
class Plateau {
public:
  void observe(const SchedulePart &part, double value);
  double factor() const { return level; }

  /// For a checkpoint's metadata, exact.
  std::string save() const;
  Status restore(std::string_view text);

private:
  bool hasBest = false;
  double best = 0, level = 1;
  uint64_t worse = 0;
};

} // namespace dlc::runtime

#endif
