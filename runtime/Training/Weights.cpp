// Weights out, in, and over ranks.
#include "runtime/Training/Weights.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"
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

/// Calls body(number of the variable, its piece of the block) for all of them, in order with the
/// program's stream where the block lies on the device.
template <typename Block, typename Body>
static Status forEachWeight(const State &state, Block weights, Place place, const Body &body) {
  const Plan &plan = state.module()->plan();
  DLC_TRY(checkSize(plan, weights.size()));
  DLC_TRY_IN(state.device()->checkPlace(weights.data(), place), "the block of weights");
  auto all = [&]() -> Status {
    for (size_t i = 0; i < plan.variables.size(); ++i) {
      if (!isWeight(plan.variables[i]))
        continue;
      const uint64_t bytes = plan.variables[i].type.logicalBytes();
      DLC_TRY(body(i, weights.first(bytes)));
      weights = weights.subspan(bytes);
    }
    return {};
  };
  return place == Place::Host ? all() : inOrder(*state.device(), state.stream(), all);
}

Status readWeights(const State &state, std::span<std::byte> weights, Place place) {
  return forEachWeight(state, weights, place,
                       [&](size_t i, auto piece) { return state.copyOut(i, piece, place); });
}

Status writeWeights(State &state, std::span<const std::byte> weights, Place place) {
  return forEachWeight(state, weights, place,
                       [&](size_t i, auto piece) { return state.copyIn(i, piece, place); });
}

Status averageWeights(Transport &ranks, State &state, double weight) {
  const PhaseScope inside(ranks, Phase::Compute);
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
