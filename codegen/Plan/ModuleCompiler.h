//===- ModuleCompiler.h - from fused dl to a module ---------------------------------*- C++ -*-===//
//
//   planModule     dl after dl-schedule -> exec with everything decided (kernels, streams, memory),
//                  verified
//   compileModule  that -> the bytes of model.so: report, plan, compiled kernels, linked, sealed
//
// Diagnostics of planning go through the context; compileModule fails with one message.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_PLAN_MODULECOMPILER_H
#define DLC_CODEGEN_PLAN_MODULECOMPILER_H

#include "codegen/Plan/SelectKernels.h"
#include "passes/Pipelines.h"

namespace dlc::codegen {

/// Who is asked for a module's kernels.
struct Selectors {
  std::shared_ptr<KernelSelector> used;
  /// By dl-divide-batch, about what it only tries out: no kernels of the module, but their seconds
  /// decide how it is divided. Null without a memory budget.
  std::shared_ptr<KernelSelector> tried;

  /// What any of them was asked for; a kernel may be there twice.
  std::vector<const KernelOffer *> offers() const;
};

/// Selectors for a target, which the passes of `options` ask from now on, about expected regions on
/// `threads` threads; 0: one a core.
Selectors openSelectors(const std::shared_ptr<const Target> &target, const PinnedChoices &pinned,
                        DLPipelineOptions &options, unsigned threads = 0);

/// Turns `module` into exec. The result lists its kernels in their order in the module.
mlir::FailureOr<std::vector<SelectedKernel>>
planModule(mlir::ModuleOp module, KernelSelector &selector, const DLPipelineOptions &options);

llvm::Expected<std::string> compileModule(mlir::ModuleOp module,
                                          llvm::ArrayRef<SelectedKernel> kernels,
                                          KernelSelector &selector, const CompileOptions &options);

} // namespace dlc::codegen

#endif
