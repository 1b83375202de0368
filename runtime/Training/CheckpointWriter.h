// Writes checkpoints on a thread of its own while training goes on, one at a time.
//
// Ownership: owns the thread and the copy that it writes; the end of the object waits for it.
// Threads: one thread calls its functions.
#ifndef DLC_RUNTIME_TRAINING_CHECKPOINTWRITER_H
#define DLC_RUNTIME_TRAINING_CHECKPOINTWRITER_H

#include "dlc/timeline.h"
#include "runtime/Data/CheckpointImage.h"
#include "runtime/Training/KeptCheckpoints.h"

#include <atomic>
#include <optional>
#include <thread>

namespace dlc::runtime {

class CheckpointWriter {
public:
  ~CheckpointWriter();

  /// What became of a checkpoint.
  struct Outcome {
    /// That it holds.
    uint64_t step;
    /// The number that is not finite, for which no file was touched; empty if there is none.
    std::string notFinite = {};
    Status status = {};
    /// Whether it is the best one and did not come into the file of the best.
    bool bestIsLost = false;
  };

  /// Gets the memory of the copies ready, before training begins: of so many ranks. Waits for what
  /// a run that was left by an exception still writes.
  void prepare(const State &state, unsigned ranks);
  /// Copies the variables and lets the thread check and write them; the outcome of the last
  /// begin() was heard. Where there is no memory for the copy, or no thread, that is done here.
  Status begin(const State &state, const CarriedStates &all, const CheckpointFiles &files,
               Metadata metadata, uint64_t step, Timeline *timeline);
  /// Until the last one is written.
  void wait();
  /// The outcome of the last begin(), once; none while it is at work.
  std::optional<Outcome> poll();
  /// Waits, gives the copy's memory back, and the outcome if it was not given yet.
  std::optional<Outcome> finish();

private:
  CheckpointImage image;
  std::thread thread;
  std::atomic<bool> written = false;
  std::optional<Outcome> outcome;
};

} // namespace dlc::runtime

#endif
