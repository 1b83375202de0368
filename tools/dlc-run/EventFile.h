// --tensorboard: what a run reports as events that TensorBoard shows.
//
// The file is one of TFRecords, each an Event of TensorFlow's event.proto and summary.proto: a
// length and its checksum, the bytes and theirs, CRC32C rotated and shifted ("masked").
#ifndef DLC_TOOLS_DLC_RUN_EVENTFILE_H
#define DLC_TOOLS_DLC_RUN_EVENTFILE_H

#include "dlc/run.h"
#include "runtime/Core/FileWriter.h"
#include "tools/dlc-run/Output.h"

#include <memory>
#include <span>
#include <string>

namespace dlc::runtime::tool {

/// One record around `data`.
std::string recordOf(std::string_view data);

/// Elements in classes of equal width, as a HistogramProto of theirs; without any, one that is
/// empty.
std::string histogramOf(std::span<const double> elements);

/// Writes what it hears to a new file in a folder. Failure: from an event that cannot be written on
/// there are none, a warning says so, and training goes on.
class EventFile : public TrainObserver {
public:
  struct Options {
    std::string folder;
    /// Each so many epochs the parameters' histograms; 0: none.
    uint64_t histograms;
    /// Whether evaluations are of averages of the weights.
    bool averaged;
  };
  /// Makes the folder if it is not there, and writes what the model is. `run` outlives the file.
  static Result<std::unique_ptr<EventFile>> create(const Options &options, const Run &run);

  void onStep(const StepReport &report) override;
  void onEpoch(const EpochReport &report) override;
  void onEvaluation(const EvaluationReport &report) override;

private:
  EventFile(Options options, const Run &run, LineWriter file)
      : options(std::move(options)), run(run), file(std::move(file)) {}
  void addNumbers(const std::string &group, const Json &line, uint64_t step);
  Status addHistograms(uint64_t step);
  Status write(const std::string &event);
  void hear(const Status &written);

  Options options;
  const Run &run;
  LineWriter file;
  bool hasFailed = false;
};

} // namespace dlc::runtime::tool

#endif
