// Reports of a run as JSON: the one description that standard output, log files and summaries have.
#ifndef DLC_RUNTIME_TRAINING_REPORTLINES_H
#define DLC_RUNTIME_TRAINING_REPORTLINES_H

#include "dlc/run.h"

#include <nlohmann/json.hpp>
#include <string>

namespace dlc::runtime {

/// Numbers that are not finite become null, as JSON has none. A table is an array of its rows.
void addMetrics(nlohmann::ordered_json &object, const MetricValues &metrics,
                const std::string &prefix = "");

/// `averaged`: whether evaluations are of averages of the weights.
nlohmann::ordered_json describe(const StepReport &report);
nlohmann::ordered_json describe(const RatePoint &point);
nlohmann::ordered_json describe(const EvaluationReport &report, bool averaged);
nlohmann::ordered_json describe(const EpochReport &report, bool averaged);

/// On one line, whatever is in its texts.
std::string lineOf(const nlohmann::ordered_json &object);

} // namespace dlc::runtime

#endif
