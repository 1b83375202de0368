// A metric of evaluations that decides something: which checkpoint is the best, when to stop.
#ifndef DLC_RUNTIME_TRAINING_WATCHEDMETRIC_H
#define DLC_RUNTIME_TRAINING_WATCHEDMETRIC_H

#include "dlc/module.h"
#include "dlc/train.h"

#include <optional>
#include <string>
#include <string_view>

namespace dlc::runtime {

/// Which metric, and whether less of it is better.
struct WatchedMetric {
  std::string name;
  bool isLess = false;

  /// Of a report of the module's evaluations, which has it.
  double in(const MetricValues &metrics) const;
  /// "accuracy:max"
  std::string str() const;
};

/// The metric that `text` names, as "accuracy", "loss" or "accuracy:max": without a direction less
/// of a loss or of a perplexity is better, and more of anything else. Empty: the first loss. Fails
/// where the module's evaluations yield no such number, and lists what they do.
Result<WatchedMetric> watchedMetric(const Module &module, std::string_view text);

/// The best of its values so far.
class BestValue {
public:
  /// Whether it is better than all before, by more than `margin`.
  bool observe(const WatchedMetric &metric, double value, double margin = 0);
  const std::optional<double> &value() const { return best; }

  /// For a checkpoint's metadata, exact; empty as long as there is none.
  std::string save() const;
  Status restore(std::string_view text);

private:
  std::optional<double> best;
};

/// Of the entry of a checkpoint's metadata that says what the best was.
std::string bestKey(const WatchedMetric &metric);

} // namespace dlc::runtime

#endif
