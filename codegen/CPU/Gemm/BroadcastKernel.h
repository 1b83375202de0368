//===- BroadcastKernel.h - micro-kernels that broadcast A to B's lanes --------------*- C++ -*-===//
//
// What kernels on vector registers share: accumulators of `rows` times `vectors` registers, to each
// of which an instruction adds a place of A, in all lanes, times a vector of B.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_GEMM_BROADCASTKERNEL_H
#define DLC_CODEGEN_CPU_GEMM_BROADCASTKERNEL_H

#include "codegen/CPU/Gemm/MicroKernel.h"

namespace dlc::codegen {

class BroadcastKernel : public MicroKernel {
public:
  int64_t mostRows(const MachineModel &machine, int64_t vectors) const final;
  double cycles(const MachineModel &machine, int64_t rows, int64_t vectors) const final;
  bool storesResults() const final { return true; }
  mlir::LLVM::LLVMFuncOp emit(mlir::ModuleOp module, const CpuTarget &target, Element element,
                              const MicroTile &tile, llvm::StringRef name) const final;

  /// What the instruction takes of A: the place `offset` behind `row`, in all lanes.
  virtual mlir::Value broadcast(PackEmitter &e, mlir::Value row, int64_t offset) const = 0;
  /// A vector of B at an aligned place.
  virtual mlir::Value column(PackEmitter &e, mlir::Value place) const = 0;
  /// The instruction.
  virtual mlir::Value multiplyAdd(PackEmitter &e, mlir::Value factor, mlir::Value column,
                                  mlir::Value sum) const = 0;

private:
  /// Of the instruction: how many of them begin in a cycle, and the cycles of one.
  virtual double perCycle(const MachineModel &machine) const = 0;
  virtual double latency(const MachineModel &machine) const = 0;
};

} // namespace dlc::codegen

#endif
