//===- PlainLoops.h - every anchor as its definition, one element at a time ---------*- C++ -*-===//
#ifndef DLC_CODEGEN_CPU_LOOPS_PLAINLOOPS_H
#define DLC_CODEGEN_CPU_LOOPS_PLAINLOOPS_H

#include "codegen/CPU/Emitter/CodeEmitter.h"

namespace dlc::codegen {

/// Result `number` of the kernel's anchor at a scalar point, computed where the builder stands.
/// Null for vectors.
mlir::Value plainAnchorValue(KernelFunction &kernel, unsigned number, const Point &point);
/// The same for the anchor or a sum beside it.
mlir::Value plainValue(KernelFunction &kernel, mlir::OpResult result, const Point &point);

} // namespace dlc::codegen

#endif
