//===- PlanWriter.h - exec programs as the plan's blob ------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_PLANWRITER_H
#define DLC_CODEGEN_PLAN_PLANWRITER_H

#include "codegen/Compile/Target.h"
#include "dialects/Exec/Exec.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace dlc::codegen {

/// The plan as it stands in the module.
struct PlanBlob {
  std::string bytes; ///< a dlc_plan_header and its tables
  std::vector<std::string>
      functions; ///< kernel functions by dlc_kernel.function: symbols for the linker
};

/// What the plan of a target with images holds beside the program: what selectKernels found, and
/// what became of it.
struct DeviceCode {
  const Target &target;
  llvm::ArrayRef<SelectedKernel> kernels;
  llvm::ArrayRef<CompiledKernel> compiled;
};

/// Writes the tables of runtime/include/dlc/abi.h from a module after exec-verify. Equal modules
/// give equal bytes. `report` is the compile report as JSON. Fails at a kernel without phases and
/// at a type that the tables cannot hold. `device`: null without images.
mlir::FailureOr<PlanBlob> writePlan(mlir::ModuleOp module, llvm::StringRef report,
                                    const DeviceCode *device = nullptr);

} // namespace dlc::codegen

#endif
