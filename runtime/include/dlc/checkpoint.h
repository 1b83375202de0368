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
  /// Every parameter and statistic must be in the file. What a training run keeps beside them is
  /// taken where the model has it too, and else passed over: slots of another optimizer, counters,
  /// states of other entries. An average of a parameter (`ema`) that the file has not begins as a
  /// copy of it, as in a new State; one that only the file has is taken in the parameter's place,
  /// so that all modules of a model evaluate and infer alike.
  Weights,
  /// As Weights, but a statistic may be missing and keeps its value, and averages take no
  /// parameter's place.
  Parameters,
  /// Everything that save() writes must be in the file. Its "step", the batches trained on, is what
  /// the State goes on from.
  Everything,
};

/// Loads variables from a safetensors file and returns its metadata. A file that another model
/// wrote, a tensor that the model has not, a missing one, another dtype or shape, and any damage is
/// an error that names file and tensor. Weights of f32, bf16 and f16 become the model's, rounded to
/// nearest even, but with Everything; one that has no room there is an error. What PyTorch stores
/// beside weights is passed over: batch norm's `num_batches_tracked`, the causal masks of GPT-2's
/// attention.
DLC_API Result<Metadata> loadVariables(State &state, const std::string &path, LoadMode mode);

/// Which weights of a file are of another float type than the module's, in which a load converts
/// them: "tensor 'w' and 3 more are f32 there, bf16 in the module". Empty if there are none.
DLC_API Result<std::string> describeConversion(const Plan &plan, const std::string &path);

/// Whether the model keeps averages of parameters, which its evaluation and inference read.
DLC_API bool keepsAverages(const Plan &plan);
/// Whether a checkpoint of dlc's has averages of the model's parameters.
DLC_API Result<bool> hasAverages(const Plan &plan, const std::string &path);

/// What loadMatching found.
struct MatchReport {
  /// Parameters and statistics that were taken, in how many, and those that the file has not.
  size_t taken = 0;
  std::vector<std::string> missing;
  /// Tensors of a file of another program that are no variables of the model.
  std::vector<std::string> unused;
  /// What describeConversion says of those that were taken.
  std::string converted;
};

/// Takes those parameters and statistics that the file has under the same names, whichever model
/// wrote it, and leaves the others as they are: to start from what was learnt elsewhere. Fails if
/// one has another dtype or shape, or if there is none. Of averages it takes none: those of the
/// model begin as copies.
///
/// `rename` makes the model's names of the file's, "REGEX=REPLACEMENT" one after the other: what
/// matches a regular expression (ECMAScript's) in a name becomes the replacement, in which \1 is
/// the first group and & the whole, as sed's s/REGEX/REPLACEMENT/g does. Fails where two tensors
/// get one name.
DLC_API Result<MatchReport> loadMatching(State &state, const std::string &path,
                                         const std::vector<std::string> &rename = {});

/// Writes the weights in a checkpoint of the module's model alone, to be given away: parameters and
/// statistics, each with a checksum. Where there are averages of parameters these stand in their
/// place, as evaluation and inference read them.
DLC_API Status exportWeights(const Module &module, const std::string &checkpoint,
                             const std::string &path);

/// The same of the mean over several checkpoints, summed in f64: of parameters and statistics, but
/// for whole numbers, which are those of the first. Averages of parameters are in all files or in
/// none.
DLC_API Status exportAverage(const Module &module, const std::vector<std::string> &checkpoints,
                             const std::string &path);

/// Writes parameters, slots, statistics, states and counters to `path`, each with a checksum, and
/// State::step() unless `metadata` has a "step" of its own, as
/// FileWriter.h writes: `path` holds the old or the new checkpoint whatever happens. Fails with
/// code Failed, and writes nothing, if one of them holds a number that is not finite.
DLC_API Status saveVariables(const State &state, const std::string &path, Metadata metadata);

} // namespace dlc::runtime

#endif
