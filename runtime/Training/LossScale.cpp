#include "runtime/Training/LossScale.h"

#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <array>

namespace dlc::runtime {

static const VariableInfo *findCounter(const Plan &plan, const std::string &name) {
  const VariableInfo *variable = plan.findVariable(name);
  return variable && variable->role == DLC_ROLE_COUNTER ? variable : nullptr;
}

LossScale::LossScale(const Plan &plan, std::string_view name, std::string_view prefix,
                     uint32_t updateEvery)
    : name(name), updateEvery(updateEvery), scale(findCounter(plan, concat(prefix, "loss_scale"))),
      skipped(findCounter(plan, concat(prefix, "loss_scale.skipped"))) {}

Status LossScale::takeLoss(Status finite) {
  if (finite.ok()) {
    lost = 0;
    return {};
  }
  if (!guards())
    return finite;
  if (++lost < mostLost)
    return {};
  return failure(StatusCode::Failed, finite.message(), "; it was not finite in ", mostLost,
                 " steps in a row, whose updates were left out");
}

void LossScale::appendNames(std::vector<std::string> &names) const {
  for (const VariableInfo *counter : {scale, skipped})
    if (counter)
      names.emplace_back(counter->name);
}

static Result<double> read(const State &state, const VariableInfo &counter) {
  std::array<std::byte, sizeof(double)> number;
  const auto index = static_cast<size_t>(&counter - state.module()->plan().variables.data());
  DLC_TRY(state.read(index, std::span(number).first(counter.type.logicalBytes())));
  return loadElement(counter.type.dtype, number.data());
}

Status LossScale::write(const State &state,
                        std::vector<std::pair<std::string_view, double>> &all) const {
  for (const VariableInfo *counter : {scale, skipped})
    if (counter) {
      DLC_TRY_ASSIGN(number, read(state, *counter));
      all.emplace_back(counter->name, number);
    }
  return {};
}

Status LossScale::check(const State &state, uint64_t batches) {
  if (!guards())
    return {};
  DLC_TRY_ASSIGN(number, read(state, *skipped));
  const Updates now{batches / updateEvery, static_cast<uint64_t>(number)};
  if (counted && now.all != counted->all) {
    const uint64_t made = now.all - counted->all;
    leftOut = now.leftOut - counted->leftOut == made ? leftOut + made : 0;
  }
  counted = now;
  if (leftOut >= mostLost)
    return failure(StatusCode::Failed, "entry '", name, "': the last ", leftOut,
                   " updates were left out, as gradients were not finite; a smaller loss_scale "
                   "may help");
  if (!scale)
    return {};
  DLC_TRY_ASSIGN(factor, read(state, *scale));
  if (factor >= leastScale)
    return {};
  return failure(StatusCode::Failed, "entry '", name, "': ", scale->name, " fell to ", factor,
                 ", as gradients were not finite again and again, ", now.leftOut,
                 " times in all; there may be numbers in the data that are not");
}

} // namespace dlc::runtime
