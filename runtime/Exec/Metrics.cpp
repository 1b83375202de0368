// Adding up accumulators.
#include "runtime/Exec/Metrics.h"
#include "runtime/Core/Support.h"

#include <cmath>

namespace dlc::runtime {

Status MetricSums::add(const Context &context) {
  for (size_t i = 0; i < totals.size(); ++i) {
    if (entry->outputs[i].kind != DLC_VALUE_ACCUMULATOR)
      continue;
    float value;
    DLC_TRY(context.read(i, std::as_writable_bytes(std::span(&value, 1))));
    totals[i] += value;
  }
  ++runCount;
  return {};
}

void MetricSums::add(const MetricSums &other) {
  for (size_t i = 0; i < totals.size(); ++i)
    totals[i] += other.totals[i];
  runCount += other.runCount;
}

std::vector<double> MetricSums::numbers() const {
  std::vector<double> numbers = totals;
  numbers.push_back(static_cast<double>(runCount));
  return numbers;
}

void MetricSums::setNumbers(std::span<const double> numbers) {
  totals.assign(numbers.begin(), numbers.end() - 1);
  runCount = static_cast<uint64_t>(numbers.back());
}

void MetricSums::clear() {
  totals.assign(totals.size(), 0);
  runCount = 0;
}

double MetricSums::value(size_t index) const {
  const MetricInfo &metric = entry->metrics[index];
  double value = 0;
  for (const dlc_term &term : metric.terms) {
    const double count = term.count == DLC_NONE
                             ? term.constant_count * static_cast<double>(runCount)
                             : totals[term.count];
    // Of nothing that counts, a sum of nothing.
    if (count != 0)
      value += term.coefficient * totals[term.sum] / count;
  }
  return metric.finish == DLC_FINISH_EXP ? std::exp(value) : value;
}

std::string MetricSums::save() const {
  std::string text = std::to_string(runCount);
  for (double total : totals)
    text += " " + exactText(total);
  return text;
}

Status MetricSums::restore(std::string_view text) {
  MetricSums restored(*entry);
  bool good = takeNumber(text, restored.runCount);
  for (double &total : restored.totals)
    good = good && takeNumber(text, total);
  if (!good || !text.empty())
    return damaged("sums of entry '", entry->name, "': expected ", totals.size() + 1, " numbers");
  *this = std::move(restored);
  return {};
}

} // namespace dlc::runtime
