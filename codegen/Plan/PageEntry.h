//===- PageEntry.h - an entry on the page of the report -----------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_PAGEENTRY_H
#define DLC_CODEGEN_PLAN_PAGEENTRY_H

#include "llvm/Support/JSON.h"
#include <string>

namespace dlc::codegen::page {

/// Entry `number`: its network as a graph, the time of each layer, the memory over the step, and
/// its tables. The first is open; `measured` is null where there are no such times.
std::string printEntry(const llvm::json::Object &entry, const llvm::json::Object &details,
                       const llvm::json::Object *measured, size_t number);

} // namespace dlc::codegen::page

#endif
