// Variables in safetensors files: under their names, in logical row-major form, so that any tool
// can read them and any other build of the model can continue from them.
//
// Threads: as State. Failure: a load that fails has changed nothing; a save that fails leaves the
// previous file.
#ifndef DLC_CHECKPOINT_H
#define DLC_CHECKPOINT_H

#include "dlc/state.h"

#include <map>
#include <string>

namespace dlc::runtime {

/// Text beside the tensors: "step", "epoch", "seed", ...
using Metadata = std::map<std::string, std::string>;

enum class LoadMode {
  /// Every parameter and statistic must be in the file; slots and counters are taken if present. An
  /// average of a parameter that is not begins as a copy of it, as in a new State.
  Weights,
  /// As Weights, but a statistic may be missing and keeps its value.
  Parameters,
  /// Everything that save() writes must be in the file.
  Everything,
};

/// Loads variables from a safetensors file and returns its metadata. A tensor that the model has
/// not, a missing one, another dtype or shape, and any damage is an error that names file and
/// tensor.
Result<Metadata> loadVariables(State &state, const std::string &path, LoadMode mode);

/// Writes parameters, slots, statistics, states and counters to `path`: into a temporary file
/// beside it, synchronised, then renamed, so that `path` holds the old or the new checkpoint
/// whatever happens.
Status saveVariables(const State &state, const std::string &path, const Metadata &metadata);

} // namespace dlc::runtime

#endif
