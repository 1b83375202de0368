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
#include <vector>

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

/// Loads variables from a safetensors file and returns its metadata. A file that another model
/// wrote, a tensor that the model has not, a missing one, another dtype or shape, and any damage is
/// an error that names file and tensor. What PyTorch stores beside weights is passed over: batch
/// norm's `num_batches_tracked`, the causal masks of GPT-2's attention.
DLC_API Result<Metadata> loadVariables(State &state, const std::string &path, LoadMode mode);

/// What loadMatching found.
struct MatchReport {
  /// Parameters and statistics that were taken, in how many, and those that the file has not.
  size_t taken = 0;
  std::vector<std::string> missing;
  /// Tensors of a file of another program that are no variables of the model.
  std::vector<std::string> unused;
};

/// Takes those parameters and statistics that the file has under the same names, whichever model
/// wrote it, and leaves the others as they are: to start from what was learnt elsewhere. Fails if
/// one has another dtype or shape, or if there is none.
DLC_API Result<MatchReport> loadMatching(State &state, const std::string &path);

/// Writes parameters, slots, statistics, states and counters to `path`, each with a checksum, as
/// FileWriter.h writes: `path` holds the old or the new checkpoint whatever happens. Fails with
/// code Failed, and writes nothing, if one of them holds a number that is not finite.
DLC_API Status saveVariables(const State &state, const std::string &path, Metadata metadata);

} // namespace dlc::runtime

#endif
