//===- PlainLoops.h - every anchor as its definition, one element at a time ---------*- C++ -*-===//
//
// The loops of last resort of both targets: right, and slow.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_PLAINLOOPS_H
#define DLC_CODEGEN_KERNEL_PLAINLOOPS_H

#include "codegen/Kernel/LoopEmitter.h"
#include "dialects/DL/Builders/PointBuilder.h"

namespace dlc::codegen {

/// A function of a kernel, at the place where its builder stands.
struct PlainFunction {
  const KernelSpec &spec;
  LoopEmitter &e;
  /// A fresh emitter for the spec's values.
  std::function<BodyEmitter(BodyEmitter::AnchorValue)> body;
};

/// What definitions are built with at `at`, the indices of an element: the anchor's operands with
/// everything fused in front of them. `function` outlives it.
std::unique_ptr<dl::PointBuilder> plainPoint(const PlainFunction &function,
                                             llvm::SmallVector<mlir::Value> at);

/// Element `linear` of result `number` as it lies in memory: the anchor or a sum beside it as loops
/// wherever their value is needed, zero for the padding of a layout.
mlir::Value plainElement(const PlainFunction &function, unsigned number, mlir::Value linear);

} // namespace dlc::codegen

#endif
