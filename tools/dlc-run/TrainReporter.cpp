// Bars, lines and JSON of a training run.
#include "tools/dlc-run/TrainReporter.h"
#include "runtime/Core/Support.h"

#include <algorithm>

namespace dlc::runtime::tool {

/// In a log, epochs that are shorter have a line each, which is written at their end.
static constexpr std::chrono::seconds logPause(10);

TrainReporter::TrainReporter(const Options &options)
    : options(options), bar(options.plain, logPause) {}

void TrainReporter::onStep(const StepReport &report) {
  ++steps;
  samples += report.samples;
  tokens += report.tokens;
  seconds += report.seconds;
  rested += report.rested;
  flops += static_cast<double>(report.flops);
  peakFlops = report.peakFlops;
  if (options.json)
    return printJson(describe(report));
  uint64_t left = report.stepsInEpoch - report.progress.position +
                  (report.epochs - report.progress.epoch - 1) * report.stepsInEpoch;
  if (options.steps)
    left = std::min(left, *options.steps - steps);
  bar.update(concat("epoch ", report.progress.epoch + 1, "/", report.epochs),
             report.progress.position, report.stepsInEpoch, metricsText(report.epoch) + speedText(),
             static_cast<double>(left) * (seconds + rested) / static_cast<double>(steps));
}

/// What a second of work brings: of a text its tokens too, and which share of the peak it is.
std::string TrainReporter::speedText() const {
  // An epoch may end without a step of this run.
  if (steps == 0)
    return {};
  std::string text = printf("  %.0f samples/s", static_cast<double>(samples) / seconds);
  if (tokens != 0)
    text += printf("  %.0f tokens/s", static_cast<double>(tokens) / seconds);
  if (flops > 0 && peakFlops > 0)
    text += printf("  %.1f%% of peak", 100 * flops / seconds / peakFlops);
  return text;
}

/// A single rate needs no name of its own.
static std::string ratesText(const EpochReport &report) {
  std::string text;
  for (const auto &[name, rate] : report.rates)
    text += concat("  ", report.rates.size() == 1 ? "learning_rate" : name) + printf(" %.4g", rate);
  return text;
}

static std::string lossScalesText(const EpochReport &report) {
  std::string text;
  for (const auto &[name, number] : report.lossScales)
    text += concat("  ", name) + printf(" %.7g", number);
  return text;
}

void TrainReporter::onEpoch(const EpochReport &report) {
  last = report;
  if (options.json)
    return printJson(describe(report, options.averaged));
  const bool ended = report.progress.position == 0;
  std::string line =
      concat(ended ? "epoch " : "stopped in epoch ", report.progress.epoch + (ended ? 0 : 1), "  ",
             metricsText(report.train), speedText(), badRecordsText(report.badRecords));
  if (report.test)
    line += "  " + testText(*report.test);
  bar.finish(line + ratesText(report) + lossScalesText(report));
}

std::string TrainReporter::testText(const EvaluateReport &test) const {
  return (options.averaged ? "test of the averages " : "test ") + metricsText(test.metrics) +
         badRecordsText(test.badRecords);
}

void TrainReporter::onEvaluation(const EvaluationReport &report) {
  if (!options.json)
    return bar.finish(concat("step ", report.progress.step, "  ", testText(report.test)));
  printJson(describe(report, options.averaged));
}

void TrainReporter::onCheckpointFailed(const Status &reason) {
  bar.clear();
  printLine(Severity::Warning, concat(reason.message(), "; training goes on"));
}

Json TrainReporter::summary(const TrainingProgress &progress) const {
  Json line = last ? describe(*last, options.averaged) : Json::object();
  line["steps"] = steps;
  line["seed"] = progress.seed;
  line["seconds"] = seconds;
  line["samples_per_second"] = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  line["summary"] = true;
  return line;
}

} // namespace dlc::runtime::tool
