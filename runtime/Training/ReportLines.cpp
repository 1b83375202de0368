// What is said of a step, an evaluation and an epoch.
#include "runtime/Training/ReportLines.h"

#include "runtime/Training/Norms.h"

#include <cmath>

namespace dlc::runtime {

using Json = nlohmann::ordered_json;

void addMetrics(Json &object, const MetricValues &metrics, const std::string &prefix) {
  for (const auto &[name, value] : metrics) {
    Json &shown = object[prefix + name];
    if (value.table.empty())
      shown = std::isfinite(value.number) ? Json(value.number) : Json();
    const auto side = static_cast<ptrdiff_t>(value.side());
    for (auto row = value.table.begin(); row != value.table.end(); row += side)
      shown.push_back(std::vector<double>(row, row + side));
  }
}

static void addRates(Json &object, const std::vector<std::pair<std::string_view, double>> &rates) {
  for (const auto &[name, rate] : rates)
    object["learning_rates"][std::string(name)] = rate;
}

static Json numberOrNull(double number) { return std::isfinite(number) ? Json(number) : Json(); }

/// Of all together, then of each parameter.
static void addNorms(Json &object, const std::vector<ParameterNorm> &norms) {
  if (norms.empty())
    return;
  const ParameterNorm all = normOfAll(norms);
  object["weight_norm"] = numberOrNull(all.weight);
  if (all.gradient)
    object["gradient_norm"] = numberOrNull(*all.gradient);
  for (const ParameterNorm &each : norms)
    object["weight_norms"][std::string(each.name)] = numberOrNull(each.weight);
  for (const ParameterNorm &each : norms)
    if (each.gradient)
      object["gradient_norms"][std::string(each.name)] = numberOrNull(*each.gradient);
}

static void addTest(Json &object, const EvaluateReport &test, bool averaged) {
  addMetrics(object, test.metrics, "test_");
  if (test.badRecords)
    object["test_bad_records"] = *test.badRecords;
  if (averaged)
    object["test_of"] = "averages";
}

Json describe(const StepReport &report) {
  Json object = {{"step", report.progress.step}, {"epoch", report.progress.epoch + 1}};
  addMetrics(object, report.batch);
  object["seconds"] = report.seconds;
  if (report.seconds > 0)
    object["samples_per_second"] = static_cast<double>(report.samples) / report.seconds;
  if (report.seconds > 0 && report.tokens != 0)
    object["tokens_per_second"] = static_cast<double>(report.tokens) / report.seconds;
  if (report.seconds > 0 && report.flops != 0) {
    const double perSecond = static_cast<double>(report.flops) / report.seconds;
    object["gflops"] = perSecond * 1e-9;
    if (report.peakFlops > 0)
      object["mfu"] = perSecond / report.peakFlops;
  }
  addRates(object, report.rates);
  addNorms(object, report.norms);
  return object;
}

Json describe(const RatePoint &point) {
  return {{"rate", point.rate}, {"loss", point.loss}, {"smoothed_loss", point.smoothed}};
}

Json describe(const EvaluationReport &report, bool averaged) {
  Json object = {{"step", report.progress.step}, {"epoch", report.progress.epoch + 1}};
  addTest(object, report.test, averaged);
  return object;
}

Json describe(const EpochReport &report, bool averaged) {
  Json object = {{"epoch", report.progress.epoch}, {"step", report.progress.step}};
  addMetrics(object, report.train);
  if (report.badRecords)
    object["bad_records"] = *report.badRecords;
  addRates(object, report.rates);
  for (const auto &[name, number] : report.lossScales)
    object[std::string(name)] = number;
  if (report.test)
    addTest(object, *report.test, averaged);
  return object;
}

std::string lineOf(const Json &object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace dlc::runtime
