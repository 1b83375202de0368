// What may end a process is done by a child process first.
#ifndef DLC_RUNTIME_DATA_HDF5_TRIAL_H
#define DLC_RUNTIME_DATA_HDF5_TRIAL_H

#include "dlc/status.h"

#include <functional>
#include <string>
#include <string_view>

namespace dlc::runtime {

/// What a piece of work begins with, as "FILE: dataset 'x'".
using SayPlace = std::function<void(std::string_view place)>;

/// What `work` returns in a child process, where it prints nothing: a text of any bytes. Fails with
/// Damaged, and the last place that it has said, if the child is ended by a signal, or has taken a
/// minute of a processor's time.
Result<std::string> tryInChild(const std::function<Result<std::string>(const SayPlace &)> &work);

} // namespace dlc::runtime

#endif
