//===- GraphHash.h - what a model computes, in one number ---------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_GRAPHHASH_H
#define DLC_CODEGEN_PLAN_GRAPHHASH_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc::codegen {

/// Gives a module of the frontend the setting "graph" (dl.graph), which tells a checkpoint's model
/// from one that was changed since: a hash of the ops of its inference entries, what each takes and
/// its attributes. It leaves out names and sizes, so batch, target and flags do not change it, and
/// what has to do with training only. No setting without an inference entry.
void recordGraphHash(mlir::ModuleOp module);

} // namespace dlc::codegen

#endif
