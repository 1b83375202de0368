//===- ModuleCompiler.cpp - from fused dl to a module ---------------------------------------------------------------===//
#include "codegen/Plan/ModuleCompiler.h"
#include "codegen/Plan/Link.h"
#include "codegen/Plan/ModuleObject.h"
#include "codegen/Plan/PlanWriter.h"
#include "codegen/Plan/Report.h"
#include "llvm/Support/FormatVariadic.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dlc::codegen {

FailureOr<std::vector<SelectedKernel>> planModule(ModuleOp module, const CpuTarget &target,
                                                  const DLPipelineOptions &options) {
  PassManager convert(module.getContext());
  addConversionPasses(convert);
  if (failed(convert.run(module)))
    return failure();
  FailureOr<std::vector<SelectedKernel>> kernels = selectKernels(module, target);
  if (failed(kernels))
    return failure();
  PassManager plan(module.getContext());
  // The pool runs one launch at a time on all cores: a second stream would only add events.
  addPlanPasses(plan, options, /*streams=*/1);
  if (failed(plan.run(module)))
    return failure();
  return kernels;
}

llvm::Expected<std::string> compileModule(ModuleOp module, ArrayRef<SelectedKernel> kernels, const CpuTarget &target,
                                          const CompileOptions &options) {
  std::string report = llvm::formatv("{0}", buildReport(module, target)), message;
  FailureOr<PlanBlob> plan = [&] {
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
    return writePlan(module, report);
  }();
  if (failed(plan))
    return llvm::createStringError(message);
  llvm::Expected<std::string> own = buildModuleObject(*plan, target);
  if (!own)
    return own.takeError();
  llvm::Expected<std::vector<CompiledKernel>> compiled = compileKernels(kernels, target, options);
  if (!compiled)
    return compiled.takeError();
  SmallVector<StringRef> objects = {*own};
  for (const CompiledKernel &kernel : *compiled)
    objects.push_back(kernel.object);
  return linkModule(objects);
}

} // namespace dlc::codegen
