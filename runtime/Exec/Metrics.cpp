// Adding up accumulators.
#include "runtime/Exec/Metrics.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <cmath>
#include <optional>

namespace dlc::runtime {

MetricSums::MetricSums(const EntryInfo &entry) : entry(&entry) {
  size_t count = 0;
  for (const ValueInfo &output : entry.outputs) {
    firsts.push_back(count);
    if (output.kind == DLC_VALUE_ACCUMULATOR)
      count += output.type.elementCount();
  }
  totals.assign(count, 0);
}

std::span<const double> MetricSums::totalsOf(uint32_t number) const {
  return std::span(totals).subspan(firsts[number], entry->outputs[number].type.elementCount());
}

Status MetricSums::add(const Context &context) {
  for (size_t i = 0; i < firsts.size(); ++i) {
    if (entry->outputs[i].kind != DLC_VALUE_ACCUMULATOR)
      continue;
    DLC_TRY_ASSIGN(values, context.fetched(i));
    const dlc_dtype dtype = entry->outputs[i].type.dtype;
    double *total = &totals[firsts[i]];
    for (const uint64_t size = dtypeSize(dtype); !values.empty(); values = values.subspan(size))
      *total++ += loadElement(dtype, values.data());
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

/// Under the receiver operating curve of one output: the share of pairs of a yes and a no in which
/// the yes has the higher score, equal ones counted half. Nothing without pairs.
static std::optional<double> areaOf(std::span<const double> no, std::span<const double> yes) {
  double area = 0, noBelow = 0, allYes = 0;
  for (size_t bin = 0; bin < no.size(); ++bin) {
    area += yes[bin] * (noBelow + no[bin] / 2);
    noBelow += no[bin];
    allYes += yes[bin];
  }
  const double pairs = noBelow * allYes;
  return pairs > 0 ? std::optional(area / pairs) : std::nullopt;
}

/// Mean over the outputs that have both answers; what chance gives if none has.
static double meanArea(std::span<const double> histograms, uint64_t bins) {
  double sum = 0;
  uint64_t count = 0;
  for (; !histograms.empty(); histograms = histograms.subspan(2 * bins))
    if (auto area = areaOf(histograms.first(bins), histograms.subspan(bins, bins))) {
      sum += *area;
      ++count;
    }
  return count == 0 ? 0.5 : sum / static_cast<double>(count);
}

MetricValue MetricSums::value(size_t index) const {
  const MetricInfo &metric = entry->metrics[index];
  if (metric.finish == DLC_FINISH_TABLE) {
    const auto own = totalsOf(metric.terms[0].sum);
    return {0, {own.begin(), own.end()}};
  }
  if (metric.finish == DLC_FINISH_AREA) {
    const uint32_t sum = metric.terms[0].sum;
    return {meanArea(totalsOf(sum), entry->outputs[sum].type.shape[2])};
  }
  double value = 0;
  for (const dlc_term &term : metric.terms) {
    const double count = term.count == DLC_NONE
                             ? term.constant_count * static_cast<double>(runCount)
                             : totals[firsts[term.count]];
    // Of nothing that counts, a sum of nothing.
    if (count != 0)
      value += term.coefficient * totals[firsts[term.sum]] / count;
  }
  return {metric.finish == DLC_FINISH_EXP ? std::exp(value) : value};
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
