//===- PlainLoops.h - every anchor as its definition, one element at a time ---------*- C++ -*-===//
//
// The loops of last resort of both targets: right, and slow.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_PLAINLOOPS_H
#define DLC_CODEGEN_KERNEL_PLAINLOOPS_H

#include "codegen/Kernel/LoopEmitter.h"

namespace dlc::codegen {

/// A function of a kernel, at the place where its builder stands.
struct PlainFunction {
  const KernelSpec &spec;
  LoopEmitter &e;
  /// A fresh emitter for the spec's values.
  std::function<BodyEmitter(BodyEmitter::AnchorValue)> body;
};

/// Element `linear` of result `number` as it lies in memory: the anchor or a sum beside it as loops
/// wherever their value is needed, zero for the padding of a layout.
mlir::Value plainElement(const PlainFunction &function, unsigned number, mlir::Value linear);

} // namespace dlc::codegen

#endif
