// Which metric, and what has been seen of it.
#include "runtime/Training/WatchedMetric.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <span>

namespace dlc::runtime {

double WatchedMetric::in(const MetricValues &metrics) const {
  return std::ranges::find(metrics, name, &MetricValues::value_type::first)->second.number;
}

std::string WatchedMetric::str() const { return name + (isLess ? ":min" : ":max"); }

Result<WatchedMetric> watchedMetric(const Module &module, std::string_view text) {
  const EntryInfo *evaluate = module.plan().findEntry(DLC_ENTRY_EVALUATE);
  std::string_view name = text;
  const bool isMin = name.ends_with(":min"), isMax = name.ends_with(":max");
  if (isMin || isMax)
    name.remove_suffix(4);
  const auto all = evaluate ? std::span(evaluate->metrics) : std::span<const MetricInfo>();
  std::string known;
  for (const MetricInfo &metric : all) {
    if (metric.finish == DLC_FINISH_TABLE)
      continue;
    const bool isLoss = metric.kind == DLC_METRIC_LOSS;
    if (name.empty() ? isLoss : metric.name == name)
      return WatchedMetric{std::string(metric.name),
                           isMin || (!isMax && (isLoss || metric.finish == DLC_FINISH_EXP))};
    addItem(known, metric.name);
  }
  return invalid(module.path(), ": no evaluation yields ",
                 name.empty() ? "a loss" : concat("'", name, "'"), "; ",
                 known.empty() ? "there is no number to watch" : concat("there are: ", known));
}

bool BestValue::observe(const WatchedMetric &metric, double seen, double margin) {
  if (best && !(metric.isLess ? seen < *best - margin : seen > *best + margin))
    return false;
  best = seen;
  return true;
}

std::string bestKey(const WatchedMetric &metric) { return concat("best.", metric.str()); }

std::string BestValue::save() const { return best ? exactText(*best) : std::string(); }

Status BestValue::restore(std::string_view text) {
  double value = 0;
  std::string_view rest = text;
  if (!text.empty() && (!takeNumber(rest, value) || !rest.empty()))
    return damaged("the best value of a metric is a number, found '", excerpt(text), "'");
  best = text.empty() ? std::nullopt : std::optional(value);
  return {};
}

} // namespace dlc::runtime
