// What the ranks of a run carry from batch to batch, each for itself, as a checkpoint has it: its
// states, the variables of DLC_ROLE_STATE, and its residuals, what compressed sums have left out.
//
// A state stands in the file under its name, the N-th residual of an entry under
// "residual/ENTRY/N"; these are rank 0's. Those of rank r stand under "rank<r>/NAME".
#ifndef DLC_RUNTIME_DATA_CARRIEDSTATES_H
#define DLC_RUNTIME_DATA_CARRIEDSTATES_H

#include "dlc/checkpoint.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

/// A state or a residual.
struct Carried {
  std::string name;
  TensorType type;
  bool isResidual;
  /// Of the variable, or of the sum's record.
  uint32_t index;
};

/// All states, then all residuals; one rank alone has none of these.
std::vector<Carried> carriedBy(const State &state);
/// Copies one of them, of exactly its size.
Status readCarried(const State &state, const Carried &carried, std::span<std::byte> destination);
Status writeCarried(State &state, const Carried &carried, std::span<const std::byte> source);

/// By rank: what it carries, one behind the other in the order of carriedBy(); from a checkpoint
/// that has not all residuals, the states alone. Empty for one rank.
using CarriedStates = std::vector<std::string>;

bool hasResiduals(const State &state, const CarriedStates &all);

bool carriesStates(const Plan &plan);

std::string carriedName(unsigned rank, std::string_view name);
/// The variable whose contents on another rank than 0 such a name is for; null if it is none.
const VariableInfo *carriedVariable(const Plan &plan, std::string_view name);
/// Whether such a name is that of a residual, of this or of another build of the model.
bool isResidualName(std::string_view name);

/// As saveVariables, with what all ranks carry; the states of rank 0 are those of `state`.
Status saveVariablesOf(const State &state, const CarriedStates &all, const std::string &path,
                       Metadata metadata);
/// What `ranks` ranks carried when the checkpoint at `path` was written. Fails if the file has not
/// all states.
Result<CarriedStates> loadCarried(const State &state, const std::string &path, uint64_t ranks);

} // namespace dlc::runtime

#endif
