//===- Quantities.h - numbers of a report as texts ----------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_QUANTITIES_H
#define DLC_CODEGEN_PLAN_QUANTITIES_H

#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>

namespace dlc::codegen {

/// A whole number of a row; 0 where it has none of this name.
int64_t get(const llvm::json::Object &object, llvm::StringRef name);

/// "0", "820", "1.50 M": `digits` digits and a factor of 1000.
std::string withFactor(double number, llvm::StringRef unit, int digits = 3);
/// "512 B", "1.50 KiB".
std::string formatBytes(double bytes);
/// "17.1 ms".
std::string formatSeconds(double seconds);
/// "64x20x24x24 bf16 nhwc": of a row with `shape`, `type` and `layout`; "-" without a shape.
std::string formatShape(const llvm::json::Object &row);
/// "1.50x"; "-" where nothing is needed.
std::string formatFactor(int64_t bytes, int64_t least);

} // namespace dlc::codegen

#endif
