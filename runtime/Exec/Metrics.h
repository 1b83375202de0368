// Losses and metrics over many runs: sums and counts added up in double, divided once at the end,
// so that partial batches weigh what they hold. Never a mean of means.
#ifndef DLC_RUNTIME_EXEC_METRICS_H
#define DLC_RUNTIME_EXEC_METRICS_H

#include "dlc/context.h"

namespace dlc::runtime {

class MetricSums {
public:
  explicit MetricSums(const EntryInfo &entry) : entry(&entry), totals(entry.outputs.size(), 0) {}

  /// Adds the accumulators of the context's last run; the context runs the same entry.
  Status add(const Context &context);
  /// Adds what another has for the same entry.
  void add(const MetricSums &other);
  void clear();
  uint64_t runs() const { return runCount; }
  /// Value of metric number `index` over all runs added; not a number if there were none.
  double value(size_t index) const;

  /// All of it as numbers, which may be added up over ranks and given back.
  std::vector<double> numbers() const;
  void setNumbers(std::span<const double> numbers);

  /// The sums as text that restores them to the bit, for checkpoints.
  std::string save() const;
  Status restore(std::string_view text);

private:
  const EntryInfo *entry;
  /// One for each output of the entry; those that are no accumulators stay zero.
  std::vector<double> totals;
  uint64_t runCount = 0;
};

} // namespace dlc::runtime

#endif
