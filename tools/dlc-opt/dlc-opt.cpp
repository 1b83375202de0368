//===- dlc-opt.cpp - runs dlc's passes on textual IR, for tests and debugging -----------------===//
#include "codegen/Plan/SelectKernels.h"
#include "codegen/Plan/TargetCandidates.h"
#include "dialects/DL/DL.h"
#include "dialects/Exec/Exec.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Conversion/Passes.h"
#include "passes/DL/Passes.h"
#include "passes/Exec/Passes.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<dlc::program::ProgramDialect, dlc::dl::DLDialect, dlc::exec::ExecDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  dlc::dl::registerDLPasses();
  dlc::registerConversionPasses();
  dlc::exec::registerExecPasses();
  dlc::codegen::registerSelectSchedules();
  dlc::registerPipelines(dlc::codegen::findCandidateSource);
  return mlir::failed(mlir::MlirOptMain(argc, argv, "dlc's passes on textual IR\n", registry));
}
