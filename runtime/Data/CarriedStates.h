// What the ranks of a run carry from batch to batch, as a checkpoint has it: each rank's variables
// of DLC_ROLE_STATE are its own. Rank 0's stand in the file under their names, those of rank r
// under "rank<r>/NAME".
#ifndef DLC_RUNTIME_DATA_CARRIEDSTATES_H
#define DLC_RUNTIME_DATA_CARRIEDSTATES_H

#include "dlc/checkpoint.h"
#include "runtime/Core/Support.h"

namespace dlc::runtime {

/// By rank: its states, one behind the other in the plan's order, as State::read gives them. Empty
/// for one rank.
using CarriedStates = std::vector<std::string>;

/// Calls use(number of a variable that is carried, where it begins, its bytes) in that order.
template <typename Use> Status forEachCarried(const Plan &plan, Use use) {
  size_t begin = 0;
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    if (plan.variables[i].role != DLC_ROLE_STATE)
      continue;
    const size_t bytes = plan.variables[i].type.logicalBytes();
    DLC_TRY(use(i, begin, bytes));
    begin += bytes;
  }
  return {};
}

bool carriesStates(const Plan &plan);
/// This rank's.
Result<std::string> readStates(const State &state);
Status writeStates(State &state, std::string_view carried);

std::string carriedName(unsigned rank, std::string_view variable);
/// The variable whose contents such a name is for; null if it is none.
const VariableInfo *carriedVariable(const Plan &plan, std::string_view name);

/// As saveVariables, with the states of all ranks; those of rank 0 are in `state`.
Status saveVariablesOf(const State &state, const CarriedStates &carried, const std::string &path,
                       Metadata metadata);
/// What `ranks` ranks carried when the checkpoint at `path` was written. Fails if the file has not
/// all of it.
Result<CarriedStates> loadCarried(const Plan &plan, const std::string &path, uint64_t ranks);

} // namespace dlc::runtime

#endif
