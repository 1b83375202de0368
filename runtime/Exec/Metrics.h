// Losses and metrics over many runs: sums and counts added up in double, divided once at the end,
// so that partial batches weigh what they hold. Never a mean of means.
#ifndef DLC_RUNTIME_EXEC_METRICS_H
#define DLC_RUNTIME_EXEC_METRICS_H

#include "dlc/context.h"

namespace dlc::runtime {

class MetricSums {
public:
  explicit MetricSums(const EntryInfo &entry);

  /// Adds the accumulators of the context's last run; the context runs the same entry.
  Status add(const Context &context);
  /// Adds what another has for the same entry.
  void add(const MetricSums &other);
  void clear();
  uint64_t runs() const { return runCount; }
  /// Value of metric number `index` over all runs added.
  MetricValue value(size_t index) const;

  /// All of it as numbers, which may be added up over ranks and given back.
  std::vector<double> numbers() const;
  void setNumbers(std::span<const double> numbers);

  /// The sums as text that restores them to the bit, for checkpoints.
  std::string save() const;
  Status restore(std::string_view text);

private:
  /// Those of an accumulator: output `number` of the entry.
  std::span<const double> totalsOf(uint32_t number) const;

  const EntryInfo *entry;
  /// Of all accumulators, one behind the other; and where those of each output begin.
  std::vector<double> totals;
  std::vector<size_t> firsts;
  uint64_t runCount = 0;
};

} // namespace dlc::runtime

#endif
