// How large parameters and their gradients are.
#ifndef DLC_RUNTIME_TRAINING_NORMS_H
#define DLC_RUNTIME_TRAINING_NORMS_H

#include "dlc/train.h"

#include <span>

namespace dlc::runtime {

/// Of each parameter, in the module's order: its norm, and that of its gradient where one of the
/// entries that ran gives it (`dlc --weight-gradients`), summed in f64. Waits for the device.
Result<std::vector<ParameterNorm>> normsOf(const State &state, std::span<const Context *const> ran);

/// Of all parameters together; none of gradients where no parameter has one.
ParameterNorm normOfAll(std::span<const ParameterNorm> norms);

} // namespace dlc::runtime

#endif
