// Where a run begins: what is checked before anything is lost, what the ranks must have alike, and
// how a run goes on from a checkpoint.
#ifndef DLC_RUNTIME_TRAINING_RUNSTART_H
#define DLC_RUNTIME_TRAINING_RUNSTART_H

#include "dlc/run.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Augment/Transforms.h"
#include "runtime/Data/CarriedStates.h"
#include "runtime/Training/Ranks.h"

namespace dlc::runtime {

/// What the run is told, by rank 0 alone.
class Speaker {
public:
  Speaker(const Log &log, bool speaks) : log(log), speaks(speaks && log) {}
  template <typename... Parts> void note(const Parts &...parts) const {
    say(Severity::Note, parts...);
  }
  template <typename... Parts> void warn(const Parts &...parts) const {
    say(Severity::Warning, parts...);
  }

private:
  template <typename... Parts> void say(Severity severity, const Parts &...parts) const {
    if (speaks)
      log(severity, concat(parts...));
  }

  const Log &log;
  bool speaks;
};

/// The files that a run reads.
std::vector<std::string> inputsOf(const RunOptions &options);

/// What the file at `path` holds of an earlier run; nothing where there is none. Nothing that was
/// read or made by others is lost by a mistake: fails if it cannot be written, is one of `inputs`,
/// or is there and no checkpoint of a run.
Result<std::optional<Metadata>> earlierCheckpoint(const std::string &path,
                                                  const std::vector<std::string> &inputs);

/// Checks `checkpoint` before it is written for the first time: a checkpoint that is there is the
/// one that was resumed, `from` where it ended, or is replaced on demand.
Status checkCheckpoint(const RunOptions &options, const Plan &plan,
                       const std::optional<TrainingProgress> &from = {});

/// Checks CHECKPOINT.step-N before the run goes on from a step, if it resumes: all come before it,
/// or are replaced on demand.
Status checkKept(const RunOptions &options, const std::optional<uint64_t> &from);

/// Checks CHECKPOINT.best before it is written for the first time: one that is there is the best of
/// the run that is resumed, by the same metric, or is replaced on demand. What it says of it goes
/// into the metadata of the checkpoint that is resumed.
Status checkBest(const RunOptions &options, const Module &module, Metadata &resumed);

/// agree(), where all have failed as soon as one has; `log` hears of it as Severity::Error says.
Status agreeAloud(Transport &ranks, const Status &own, const Facts &facts, const Log &log);

/// What a run begins with.
struct RunBeginning {
  std::shared_ptr<State> state;
  /// Null where there are none.
  std::shared_ptr<const Dataset> train, test;
  TrainingProgress progress;
  /// Of the checkpoint that is resumed.
  Metadata metadata;
  /// What `augment` says, or that checkpoint.
  Augmentation augmentation;
};

/// Loads, opens, checks and agrees, and gives all ranks what rank 0 has.
Result<RunBeginning> beginRun(const RunOptions &options, const std::shared_ptr<Transport> &ranks);

} // namespace dlc::runtime

#endif
