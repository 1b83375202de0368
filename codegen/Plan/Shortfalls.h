//===- Shortfalls.h - what runs otherwise than it should ----------------------------*- C++ -*-===//
//
// A module whose kernels are chosen may lack what the user has asked for, an algorithm or a layout
// of a convolution, or what everybody counts on: code that is fast. Neither is an error, and
// neither may go unsaid.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_SHORTFALLS_H
#define DLC_CODEGEN_PLAN_SHORTFALLS_H

#include "codegen/Compile/KernelSelector.h"
#include "dialects/Exec/Exec.h"

namespace dlc::codegen {

/// A convolution that does not run as it is asked to.
struct Fallback {
  exec::KernelOp kernel;
  std::string wanted, taken; ///< algorithms, or layouts: "winograd", "direct"
  std::string reason;
};

/// In the order of the module's kernels.
std::vector<Fallback> findFallbacks(mlir::ModuleOp module, KernelSelector &selector);

/// A kernel that runs as loops of last resort.
struct SlowKernel {
  exec::KernelOp kernel;
  std::string reason;
  exec::ProgramOp entry; ///< the one of whose estimated seconds all that are slow for this reason
  double share;          ///< take the most, and how much
};

/// Those of them for a reason that costs an entry more than a hundredth of its estimated seconds.
/// `selected` are the module's kernels.
std::vector<SlowKernel> findSlowKernels(mlir::ModuleOp module, KernelSelector &selector,
                                        llvm::ArrayRef<SelectedKernel> selected);

/// Warns of both, once a reason, with the layers, at the place of the first.
void warnOfShortfalls(mlir::ModuleOp module, KernelSelector &selector,
                      llvm::ArrayRef<SelectedKernel> selected);

/// The layers and stages that launch each kernel, but for what is only prepared, by its symbol, in
/// the order in which they run: "conv1", "conv1/backward_data".
llvm::StringMap<llvm::SetVector<llvm::StringRef>> findLayers(mlir::ModuleOp module);

} // namespace dlc::codegen

#endif
