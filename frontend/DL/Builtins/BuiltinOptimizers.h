// Optimizers of the language as #dl.optimizer.
#ifndef DLC_FRONTEND_DL_BUILTINS_BUILTINOPTIMIZERS_H
#define DLC_FRONTEND_DL_BUILTINS_BUILTINOPTIMIZERS_H

#include "frontend/DL/Builtins/Builtins.h"

namespace dlc::frontend {

/// The call of an optimizer as an attribute. Settings that have their defaults are left out.
dl::OptimizerAttr optimizerAttribute(mlir::MLIRContext *context, const PlanValue &plan);

} // namespace dlc::frontend

#endif
