//===- SelectKernels.h - how each exec.kernel will run ------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_SELECTKERNELS_H
#define DLC_CODEGEN_PLAN_SELECTKERNELS_H

#include "codegen/Compile/KernelSelector.h"
#include "dialects/Exec/Exec.h"
#include "mlir/Pass/Pass.h"

namespace dlc::codegen {

/// Chooses the code of every exec.kernel: fills in phases, workspace, key, schedule and cost
/// figures, and renames it after what it computes. The result lists what there is to compile, for
/// Target::compile: codes in the order in which the module's kernels first have them, then
/// alternatives. Kernels of equal key have one code.
mlir::FailureOr<std::vector<SelectedKernel>> selectKernels(mlir::ModuleOp module,
                                                           KernelSelector &selector);

/// The same as a pass, `exec-select-schedules`, with the target as its option.
void registerSelectSchedules();

} // namespace dlc::codegen

#endif
