// The files of a run's checkpoints: the newest, FILE; those before it, FILE.step-N; and the best by
// some metric, FILE.best. Each is a whole checkpoint under its own name at any moment: a process
// that is killed loses none.
//
// Threads: for one FILE one at a time.
#ifndef DLC_RUNTIME_TRAINING_KEPTCHECKPOINTS_H
#define DLC_RUNTIME_TRAINING_KEPTCHECKPOINTS_H

#include "dlc/status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlc::runtime {

/// FILE.best
std::string bestName(const std::string &path);
/// FILE.step-N
std::string keptName(const std::string &path, uint64_t step);
/// The steps of all FILE.step-N that are there, the last one first.
std::vector<uint64_t> keptSteps(const std::string &path);

/// Where a checkpoint goes.
struct CheckpointFiles {
  std::string path;
  /// The step of the run's checkpoint that is there; none: there is none, or an earlier run's.
  std::optional<uint64_t> before = {};
  /// How many stay, with the one at `path`; 0 and 1: that alone.
  uint64_t keep = 1;
  /// Whether there is to be a file of the best, and whether this checkpoint is the best so far.
  bool savesBest = false, isBest = false;
};

/// Writes the checkpoint of `step` by `write`, which is given the name of a file. `bestIsLost`:
/// whether it is the best, and could not be written as that.
Status writeFiles(const CheckpointFiles &files, uint64_t step,
                  const std::function<Status(const std::string &)> &write, bool &bestIsLost);

} // namespace dlc::runtime

#endif
