//===- Passes.h - passes on the dl dialect ------------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_DL_PASSES_H
#define DLC_PASSES_DL_PASSES_H

#include "dialects/DL/DL.h"
#include "mlir/Pass/Pass.h"

namespace dlc::dl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/DL/Passes.h.inc"

} // namespace dlc::dl

#endif
