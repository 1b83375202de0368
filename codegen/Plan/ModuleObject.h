//===- ModuleObject.h - the object file that makes kernels a module -----------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_MODULEOBJECT_H
#define DLC_CODEGEN_PLAN_MODULEOBJECT_H

#include "codegen/Compile/Target.h"
#include "codegen/Plan/PlanWriter.h"

namespace dlc::codegen {

/// A relocatable object with what a module has besides kernels: the blob in .dlc.plan, the table of
/// kernel functions, dlc_module_query, and the note with the hash of the file still zero.
llvm::Expected<std::string> buildModuleObject(const PlanBlob &plan, const Target &target,
                                              llvm::ArrayRef<SelectedKernel> kernels = {});

} // namespace dlc::codegen

#endif
