//===- Targets.h - all targets, by their names --------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_TARGETS_H
#define DLC_CODEGEN_TARGETS_H

#include "codegen/Compile/Target.h"

namespace dlc::codegen {

/// "cpu", "cpu:znver4", "cuda" or "cuda:sm_80,simt"; fails with a message for anything else.
llvm::Expected<std::shared_ptr<Target>> getTarget(llvm::StringRef text);

} // namespace dlc::codegen

#endif
