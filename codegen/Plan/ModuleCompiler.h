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

/// Turns `module` into exec. The result lists its kernels in their order in the module.
mlir::FailureOr<std::vector<SelectedKernel>>
planModule(mlir::ModuleOp module, KernelSelector &selector, const DLPipelineOptions &options);

/// What dl-rematerialize asks: the memory that planModule arrives at.
dl::MemoryPlanner createMemoryPlanner(std::shared_ptr<KernelSelector> selector,
                                      DLPipelineOptions options);

/// What dl-divide-batch asks: what the passes behind it make of a module. `options` without fitter.
dl::MemoryFitter createMemoryFitter(DLPipelineOptions options);

llvm::Expected<std::string> compileModule(mlir::ModuleOp module,
                                          llvm::ArrayRef<SelectedKernel> kernels,
                                          KernelSelector &selector, const CompileOptions &options);

} // namespace dlc::codegen

#endif
