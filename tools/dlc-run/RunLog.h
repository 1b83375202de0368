// The log of a run, as `dlc-run train --log` writes it: curves by the names of their numbers.
#ifndef DLC_TOOLS_DLC_RUN_RUNLOG_H
#define DLC_TOOLS_DLC_RUN_RUNLOG_H

#include "dlc/status.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlc::runtime::tool {

struct LogPoint {
  uint64_t step;
  double value;
};

/// What a log says of one number. Points by step, each step once.
struct LogCurves {
  std::vector<LogPoint> training, evaluation;
};

struct RunLog {
  std::string path;
  /// By name: "loss", "learning_rates.optimizer.learning_rate", "samples_per_second". What is
  /// called test_NAME in the log is NAME's evaluation here.
  std::map<std::string, LogCurves> curves;
  /// Seconds that each step took.
  std::vector<LogPoint> seconds;
  /// How many steps an epoch has; nothing where none has ended.
  std::optional<double> epochSteps;
  /// Whether evaluations are of averages of the weights.
  bool isAveraged = false;
  /// Lines without a report, as those where a run was killed, and numbers that are not finite.
  uint64_t brokenLines = 0, notFinite = 0;

  /// The seconds from the beginning to the end of each step, a sum, as `seconds`.
  std::vector<LogPoint> clock() const;
};

/// Reads JSON lines or CSV, whatever the file's name is. Of steps that come again, because the run
/// was killed and went on from a checkpoint, the later ones stay. A last line that is cut is left
/// out: the run may still write it. Fails for a file without any report, and for one that is no
/// log.
Result<RunLog> readRunLog(const std::string &path);

} // namespace dlc::runtime::tool

#endif
