//===- Passes.h - conversions between dialects --------------------------------------*- C++ -*-===//
#ifndef DLC_PASSES_CONVERSION_PASSES_H
#define DLC_PASSES_CONVERSION_PASSES_H

#include "dialects/DL/DL.h"
#include "dialects/Exec/Exec.h"
#include "mlir/Pass/Pass.h"

namespace dlc {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Conversion/Passes.h.inc"

} // namespace dlc

#endif
