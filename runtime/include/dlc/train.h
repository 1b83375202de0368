// What training reports, and who hears it.
#ifndef DLC_TRAIN_H
#define DLC_TRAIN_H

#include "dlc/context.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlc::runtime {

/// Losses and metrics by name, in the entry's order.
using MetricValues = std::vector<std::pair<std::string, MetricValue>>;

/// Where a training run stands.
struct TrainingProgress {
  uint64_t seed = 0;
  /// Batches trained on since the run began.
  uint64_t step = 0;
  /// Epochs completed, and batches done in the current one.
  uint64_t epoch = 0, position = 0;
};

struct EvaluateReport {
  MetricValues metrics;
  uint64_t samples = 0, batches = 0;
  double seconds = 0;
  /// Damaged samples that were left out since the epoch or its resumption began, added over the
  /// ranks: one that two ranks came upon counts twice. None where LoadOptions::maxBadRecords is 0.
  std::optional<uint64_t> badRecords = {};
};

/// How large a parameter is, and its gradient in the last update, if the module gives that.
struct ParameterNorm {
  std::string_view name;
  double weight;
  std::optional<double> gradient = {};
};

/// After a batch.
struct StepReport {
  TrainingProgress progress;
  /// 0 where it is not known how many batches an epoch has.
  uint64_t stepsInEpoch, epochs;
  uint64_t samples;
  /// Of this batch alone, and over the epoch so far.
  MetricValues batch, epoch;
  double seconds;
  /// The learning rates of the last update, by the names of their scalars.
  std::vector<std::pair<std::string_view, double>> rates = {};
  /// Of a text, those that the batch has of it; else 0.
  uint64_t tokens = 0;
  /// What the module's records compute for this batch on all ranks, multiply and add counted as
  /// two; 0: it does not say.
  uint64_t flops = 0;
  /// What the devices of all ranks compute in a second at most, of float32; 0: not known.
  double peakFlops = 0;
  /// Of each parameter, in steps where `norms` asks for them.
  std::vector<ParameterNorm> norms = {};
  /// Seconds that the run rested in front of the batch, as `share` asks it to.
  double rested = 0;
};

/// After an epoch, or at the end of the run.
struct EpochReport {
  TrainingProgress progress;
  uint64_t samples;
  MetricValues train;
  double seconds;
  std::optional<EvaluateReport> test;
  /// The learning rates of the last update, by the names of their scalars.
  std::vector<std::pair<std::string_view, double>> rates;
  /// As those of EvaluateReport, since the epoch began or went on behind a resumption.
  std::optional<uint64_t> badRecords = {};
  /// Where a loss is scaled: the scale, if it changes, and how many updates overflows have left out
  /// since the run began, by the names of their variables.
  std::vector<std::pair<std::string_view, double>> lossScales = {};
};

/// After an evaluation within an epoch; that of an epoch's end is in its EpochReport.
struct EvaluationReport {
  TrainingProgress progress;
  EvaluateReport test;
};

/// Hears how a run goes. Called on the thread that trains. It may read the run (evaluate, predict,
/// weights) from onEpoch(), and set its rates from onStep() and onEpoch().
class DLC_API TrainObserver {
public:
  virtual ~TrainObserver() = default;
  virtual void onStep([[maybe_unused]] const StepReport &report) {}
  virtual void onEpoch([[maybe_unused]] const EpochReport &report) {}
  virtual void onEvaluation([[maybe_unused]] const EvaluationReport &report) {}
  /// A checkpoint is on its disk: it is written while training goes on, so this may be some steps
  /// behind the one that it holds, and behind the epoch's onEpoch().
  virtual void onCheckpoint([[maybe_unused]] const std::string &path) {}
  /// One could not be written. The run goes on, and the next one is tried.
  virtual void onCheckpointFailed([[maybe_unused]] const Status &reason) {}
  /// Asked before each batch, or behind each among several ranks; true on one of them ends the run
  /// as if it were complete.
  virtual bool shouldStop() { return false; }
  /// Asked behind each batch; true on one of the ranks writes the checkpoint, and the run goes on.
  virtual bool shouldSave() { return false; }
};

} // namespace dlc::runtime

#endif
