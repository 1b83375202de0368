//===- Passes.h - passes on the exec dialect ----------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_EXEC_PASSES_H
#define DLC_PASSES_EXEC_PASSES_H

#include "dialects/Exec/Exec.h"
#include "mlir/Pass/Pass.h"

namespace dlc::exec {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Exec/Passes.h.inc"

} // namespace dlc::exec

#endif
