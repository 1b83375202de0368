// What a run reports as events that TensorBoard shows.
//
// The file is one of TFRecords, each an Event of TensorFlow's event.proto and summary.proto: a
// length and its checksum, the bytes and theirs, CRC32C rotated and shifted ("masked").
//
// Threads: the one that trains. Failure: from an event that cannot be written on there are none,
// and the run goes on.
#ifndef DLC_RUNTIME_TRAINING_EVENTFILE_H
#define DLC_RUNTIME_TRAINING_EVENTFILE_H

#include "dlc/data.h"
#include "dlc/state.h"
#include "dlc/train.h"
#include "runtime/Core/FileWriter.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace dlc::runtime {

/// One record around `data`.
std::string recordOf(std::string_view data);

/// Elements in classes of equal width, as a HistogramProto of theirs; without any, one that is
/// empty.
std::string histogramOf(std::span<const double> elements);

class EventFile : public TrainObserver {
public:
  struct Options {
    /// Where a new file is written; made if it is not there.
    std::string folder;
    /// Each so many epochs the parameters' histograms; 0: none.
    uint64_t histograms;
    /// Whether evaluations are of averages of the weights.
    bool averaged;
    /// Hears once that no more can be written.
    std::function<void(const Status &)> failed;
  };
  /// Writes what the model is. `step`: where the run stands.
  static Result<std::unique_ptr<EventFile>> open(Options options,
                                                 std::shared_ptr<const State> state, uint64_t step);

  /// A picture as the bytes of a PNG.
  void addPicture(const std::string &tag, const Picture &picture, std::span<const std::byte> png,
                  uint64_t step);
  void onStep(const StepReport &report) override;
  void onEpoch(const EpochReport &report) override;
  void onEvaluation(const EvaluationReport &report) override;

private:
  EventFile(Options options, std::shared_ptr<const State> state, LineWriter file)
      : options(std::move(options)), state(std::move(state)), file(std::move(file)) {}
  void addNumbers(const std::string &group, const nlohmann::ordered_json &line, uint64_t step);
  Status addHistograms(uint64_t step);
  Status write(const std::string &event);
  void hear(const Status &written);

  Options options;
  const std::shared_ptr<const State> state;
  LineWriter file;
  bool hasFailed = false;
};

} // namespace dlc::runtime

#endif
