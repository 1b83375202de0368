// What dlc-run train shows of a run.
#ifndef DLC_TOOLS_DLC_RUN_TRAINREPORTER_H
#define DLC_TOOLS_DLC_RUN_TRAINREPORTER_H

#include "dlc/train.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Progress.h"

#include <functional>

namespace dlc::runtime::tool {

/// Shows a run to people or, with --json, to scripts.
class TrainReporter : public TrainObserver {
public:
  struct Options {
    bool json;
    /// Batches of this call, if they are limited.
    std::optional<uint64_t> steps;
    /// Whether evaluations are of the averages of the weights; epochs are of the weights
    /// themselves.
    bool averaged;
    /// Lines in place of a bar.
    bool plain;
  };
  explicit TrainReporter(const Options &options);

  void onStep(const StepReport &report) override;
  void onEpoch(const EpochReport &report) override;
  void onEvaluation(const EvaluationReport &report) override;
  void onCheckpointFailed(const Status &reason) override;

  /// What is printed last.
  Json summary(const TrainingProgress &progress) const;

private:
  std::string speedText() const;
  std::string testText(const EvaluateReport &test) const;

  Options options;
  ProgressLine bar;
  std::optional<EpochReport> last;
  uint64_t steps = 0, samples = 0, tokens = 0;
  double seconds = 0, rested = 0, flops = 0, peakFlops = 0;
};

} // namespace dlc::runtime::tool

#endif
