//===- Names.h - the list of a model's variables ------------------------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_NAMES_H
#define DLC_TOOLS_DLC_NAMES_H

#include "frontend/DL/Syntax/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace dlc::tool {

/// One line a variable: checkpoint key, type, role, place in the source.
std::string listNames(mlir::ModuleOp module);

/// Reports each variable that differs from an earlier list, the text of the file `path`: its
/// checkpoints would not load.
void checkNames(mlir::ModuleOp module, llvm::StringRef path, llvm::StringRef list,
                frontend::DiagnosticEngine &engine);

} // namespace dlc::tool

#endif
