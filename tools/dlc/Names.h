//===- Names.h - the list of a model's variables --------------------------------------------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_NAMES_H
#define DLC_TOOLS_DLC_NAMES_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace dlc::tool {

/// One line a variable: checkpoint key, type, role, place in the source.
std::string listNames(mlir::ModuleOp module);

} // namespace dlc::tool

#endif
