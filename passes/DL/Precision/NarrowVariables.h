//===- NarrowVariables.h - the type that a variable is stored in --------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_PRECISION_NARROWVARIABLES_H
#define DLC_PASSES_DL_PRECISION_NARROWVARIABLES_H

#include "dialects/DL/Ops/DLVariableOps.h"

namespace dlc::dl {

/// Stores `variable` in the narrower `element`. `reads` are all of it: what casts them to that
/// takes them as they are, and what else they are used for widens them.
void storeIn(mlir::FloatType element, VariableOp variable, llvm::ArrayRef<ReadOp> reads);

} // namespace dlc::dl

#endif
