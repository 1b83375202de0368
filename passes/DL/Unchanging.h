//===- Unchanging.h - variables that stay as they are while a model is used ---------*- C++ -*-===//
#ifndef DLC_PASSES_DL_UNCHANGING_H
#define DLC_PASSES_DL_UNCHANGING_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// Whether `value` is read from a variable, through reshapes, in an entry that uses the model, and
/// no such entry writes the variable.
bool isUnchanging(mlir::Value value);

} // namespace dlc::dl

#endif
