//===- Measurements.h - what layers took --------------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_MEASUREMENTS_H
#define DLC_CODEGEN_PLAN_MEASUREMENTS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace dlc::codegen {

/// What `dlc-run bench --layers --json` prints of entries of this module: its lines, checked. Fails
/// for another text, without layers, and for what was measured of another module, with what does
/// not fit. `report` is of buildReport().
llvm::Expected<llvm::json::Array> readMeasurements(llvm::StringRef text,
                                                   const llvm::json::Value &report);

} // namespace dlc::codegen

#endif
