// Sums of squares on the host.
#include "runtime/Training/Norms.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"

#include <cmath>

namespace dlc::runtime {

static double normOf(const TensorType &type, std::span<const std::byte> elements) {
  double squares = 0;
  for (uint64_t i = 0, size = dtypeSize(type.dtype); i < type.elementCount(); ++i)
    squares += std::pow(loadElement(type.dtype, &elements[i * size]), 2);
  return std::sqrt(squares);
}

/// None where no entry gives the gradient of variable number `variable`.
static Result<std::optional<double>> gradientNorm(size_t variable,
                                                  std::span<const Context *const> ran) {
  for (const Context *context : ran)
    for (size_t i = 0; i < context->entry().outputs.size(); ++i) {
      const ValueInfo &output = context->entry().outputs[i];
      if (output.kind != DLC_VALUE_GRADIENT || output.of != variable)
        continue;
      std::vector<std::byte> elements(output.type.logicalBytes());
      DLC_TRY(context->read(i, elements));
      return std::optional(normOf(output.type, elements));
    }
  return std::optional<double>();
}

Result<std::vector<ParameterNorm>> normsOf(const State &state,
                                           std::span<const Context *const> ran) {
  const std::vector<VariableInfo> &variables = state.module()->plan().variables;
  std::vector<ParameterNorm> norms;
  std::vector<std::byte> elements;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].role != DLC_ROLE_PARAMETER)
      continue;
    elements.resize(variables[i].type.logicalBytes());
    DLC_TRY(state.read(i, elements));
    DLC_TRY_ASSIGN(gradient, gradientNorm(i, ran));
    norms.push_back({variables[i].name, normOf(variables[i].type, elements), gradient});
  }
  return norms;
}

ParameterNorm normOfAll(std::span<const ParameterNorm> norms) {
  ParameterNorm all{.name = {}, .weight = 0};
  for (const ParameterNorm &each : norms) {
    all.weight = std::hypot(all.weight, each.weight);
    if (each.gradient)
      all.gradient = std::hypot(all.gradient.value_or(0), *each.gradient);
  }
  return all;
}

} // namespace dlc::runtime
