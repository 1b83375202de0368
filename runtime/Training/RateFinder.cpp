// Rates, smoothed losses, and what they say.
#include "runtime/Training/RateFinder.h"
#include "runtime/Core/Support.h"

#include <cmath>

namespace dlc::runtime {

Status checkRateSearch(const RateSearchOptions &options) {
  if (!(options.from > 0 && options.to > options.from && std::isfinite(options.to)))
    return invalid("rates from ", decimalText(options.from), " to ", decimalText(options.to),
                   " make no sweep: expected two numbers above 0, the larger one last");
  constexpr uint64_t fewest = 10;
  if (options.steps < fewest)
    return invalid("a sweep of ", options.steps, " steps says nothing: expected ", fewest,
                   " at least");
  return {};
}

std::optional<double> steepestRate(const std::vector<RatePoint> &points) {
  std::optional<double> found;
  double steepest = 0;
  for (size_t i = std::max<size_t>(1, points.size() / 10); i + 2 < points.size(); ++i)
    if (const double slope = points[i + 1].smoothed - points[i - 1].smoothed; slope < steepest) {
      steepest = slope;
      found = points[i].rate;
    }
  return found;
}

RateFinder::RateFinder(Trainer &trainer, const RateSearchOptions &options)
    : trainer(trainer), options(options) {
  trainer.holdRate(rateOf(0));
}

double RateFinder::rateOf(size_t step) const {
  const double part = static_cast<double>(step) / static_cast<double>(options.steps - 1);
  return options.from * std::pow(options.to / options.from, part);
}

void RateFinder::onStep(const StepReport &) {
  // Several ranks hear a step later that all of them stop.
  if (shouldStop())
    return;
  constexpr double memory = 0.98, most = 3;
  const std::optional<double> found = trainer.lastLoss();
  if (!found)
    return;
  const double loss = *found;
  sum = memory * sum + (1 - memory) * loss;
  const auto count = static_cast<double>(points.size() + 1);
  const double smoothed = sum / (1 - std::pow(memory, count));
  best = points.empty() ? smoothed : std::min(best, smoothed);
  points.push_back({rateOf(points.size()), loss, smoothed});
  hasDiverged = smoothed > best + most * std::abs(best);
  if (options.hear)
    options.hear(points.back());
  if (points.size() < options.steps)
    trainer.holdRate(rateOf(points.size()));
}

RateSearch RateFinder::result() && {
  const std::optional<double> suggested = steepestRate(points);
  return {std::string(trainer.firstRate()), std::move(points), suggested, hasDiverged};
}

} // namespace dlc::runtime
