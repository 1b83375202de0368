//===- LoopEmitter.h - integers, loops and the types of elements --------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_KERNEL_LOOPEMITTER_H
#define DLC_CODEGEN_KERNEL_LOOPEMITTER_H

#include "codegen/Kernel/KernelSpec.h"
#include "dialects/DL/Builders/LoopBuilder.h"

namespace dlc::codegen {

class LoopEmitter : public dl::LoopBuilder {
public:
  using LoopBuilder::LoopBuilder;

  /// A float or vector of floats in element type `element`.
  mlir::Value convertFloat(mlir::Value value, mlir::Type element) {
    return codegen::convertFloat(b, loc, value, element);
  }
};

} // namespace dlc::codegen

#endif
