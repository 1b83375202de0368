// A sweep over learning rates (Smith: Cyclical learning rates for training neural networks; WACV
// 2017): each batch is trained on at a higher one, by a constant factor, until the loss diverges.
#ifndef DLC_RUNTIME_TRAINING_RATEFINDER_H
#define DLC_RUNTIME_TRAINING_RATEFINDER_H

#include "dlc/run.h"
#include "runtime/Training/Trainer.h"

namespace dlc::runtime {

/// Fails where the numbers make no sweep.
Status checkRateSearch(const RateSearchOptions &options);

/// The rate at which smoothed losses fall the steepest, by central differences over the logarithm
/// of the rate. The first tenth, in which they are means of a few, and the last one, which has
/// diverged, do not count; none where they fall nowhere.
std::optional<double> steepestRate(const std::vector<RatePoint> &points);

class RateFinder : public TrainObserver {
public:
  /// Tells `trainer`, whose observer it is, the rate of each step.
  RateFinder(Trainer &trainer, const RateSearchOptions &options);
  void onStep(const StepReport &report) override;
  bool shouldStop() override { return hasDiverged || points.size() == options.steps; }

  bool hasBegun() const { return !points.empty(); }
  /// A loss was not finite.
  void diverge() { hasDiverged = true; }
  RateSearch result() &&;

private:
  double rateOf(size_t step) const;

  Trainer &trainer;
  RateSearchOptions options;
  std::vector<RatePoint> points;
  double sum = 0, best = 0;
  bool hasDiverged = false;
};

} // namespace dlc::runtime

#endif
