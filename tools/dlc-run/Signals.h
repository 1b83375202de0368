// What signals ask a training run for.
#ifndef DLC_TOOLS_DLC_RUN_SIGNALS_H
#define DLC_TOOLS_DLC_RUN_SIGNALS_H

#include "dlc/train.h"

#include <initializer_list>

namespace dlc::runtime::tool {

/// From now on this one asks for a checkpoint behind the current step; the run goes on.
void saveOn(int signal);

/// These ask for the end: the run then ends after the current step, with a checkpoint. A second
/// signal of the kind ends the process at once, but for SIGPIPE: each further line of output raises
/// one, also before the checkpoint is written. A signal that whoever started the process ignores,
/// as nohup does, stays ignored.
void stopOn(std::initializer_list<int> signals);

/// Passes on what signals have asked for. A starter passes one on to all ranks, which it reaches in
/// different steps: so one of them `saves`.
class SignalObserver : public TrainObserver {
public:
  explicit SignalObserver(bool saves) : saves(saves) {}

private:
  bool shouldStop() override;
  bool shouldSave() override;

  const bool saves;
};

} // namespace dlc::runtime::tool

#endif
