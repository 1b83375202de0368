// A log file of a run: a line for each step, evaluation and epoch, written as it is reported. JSON
// lines, or CSV where the name ends with .csv; "report" says what a line is of.
//
// Threads: the one that trains. Failure: from a line that cannot be written on there are none, and
// the run goes on.
#ifndef DLC_RUNTIME_TRAINING_REPORTLOG_H
#define DLC_RUNTIME_TRAINING_REPORTLOG_H

#include "dlc/train.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Training/ReportLines.h"

#include <functional>
#include <memory>

namespace dlc::runtime {

class ReportLog : public TrainObserver {
public:
  struct Options {
    std::string path;
    /// Behind what is there; of a CSV file under its columns.
    bool append;
    /// Whether evaluations are of averages of the weights.
    bool averaged;
    /// Of a CSV file, by the names that JSON has: "learning_rates.optimizer.learning_rate".
    std::vector<std::string> columns;
    /// Hears once that no more can be written.
    std::function<void(const Status &)> failed;
  };
  static Result<std::unique_ptr<ReportLog>> open(Options options);

  /// A batch of a sweep over learning rates.
  void onRate(const RatePoint &point);
  void onStep(const StepReport &report) override;
  void onEvaluation(const EvaluationReport &report) override;
  void onEpoch(const EpochReport &report) override;

private:
  ReportLog(Options options, LineWriter file)
      : options(std::move(options)), file(std::move(file)) {}
  void write(std::string_view report, const nlohmann::ordered_json &line);
  void add(std::string_view line);

  Options options;
  LineWriter file;
  bool hasFailed = false;
};

} // namespace dlc::runtime

#endif
