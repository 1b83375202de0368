// Weights out, in, and over ranks.
#include "runtime/Training/Weights.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Training/Ranks.h"

#include <cmath>

namespace dlc::runtime {

static bool isWeight(const VariableInfo &variable) {
  return variable.role == DLC_ROLE_PARAMETER || variable.role == DLC_ROLE_STATISTIC;
}

uint64_t weightsBytes(const Plan &plan) {
  uint64_t bytes = 0;
  for (const VariableInfo &variable : plan.variables)
    bytes += isWeight(variable) ? variable.type.logicalBytes() : 0;
  return bytes;
}

static Status checkSize(const Plan &plan, uint64_t given) {
  const uint64_t bytes = weightsBytes(plan);
  return given == bytes ? Status()
                        : invalid("the weights have ", bytes, " bytes, the block ", given);
}

/// Calls body(number of the variable, its piece of the block).
template <typename Block, typename Body>
static Status forEachWeight(const Plan &plan, Block weights, const Body &body) {
  DLC_TRY(checkSize(plan, weights.size()));
  for (size_t i = 0; i < plan.variables.size(); ++i) {
    if (!isWeight(plan.variables[i]))
      continue;
    const uint64_t bytes = plan.variables[i].type.logicalBytes();
    DLC_TRY(body(i, weights.first(bytes)));
    weights = weights.subspan(bytes);
  }
  return {};
}

Status readWeights(const State &state, std::span<std::byte> weights) {
  return forEachWeight(state.module()->plan(), weights,
                       [&](size_t i, auto piece) { return state.read(i, piece); });
}

Status writeWeights(State &state, std::span<const std::byte> weights) {
  return forEachWeight(state.module()->plan(), weights,
                       [&](size_t i, auto piece) { return state.write(i, piece); });
}

Status averageWeights(Transport &ranks, State &state, double weight) {
  const bool isSound = std::isfinite(weight) && weight >= 0;
  DLC_TRY(agree(ranks, isSound ? Status() : invalid("a rank's weight is ", numberText(weight)),
                {{"the plan", state.module()->graphHash()}}));
  double all = weight;
  DLC_TRY(ranks.sum(std::span(&all, 1)));
  if (all == 0)
    return invalid("the weights of all ranks are 0");
  const std::vector<VariableInfo> &variables = state.module()->plan().variables;
  for (size_t i = 0; i < variables.size(); ++i)
    if (isWeight(variables[i]) && !isWhole(variables[i].type.dtype))
      DLC_TRY(averageVariable(ranks, state, i, weight, all));
  return {};
}

} // namespace dlc::runtime
