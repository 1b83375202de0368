// The order of compilation: parse, imports, -D, sections, verify.
#include "frontend/DL/Frontend.h"
#include "frontend/DL/Evaluation/Evaluator.h"
#include "frontend/DL/Evaluation/Unused.h"
#include "frontend/DL/Sections/Sections.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace dlc::frontend {

/// The dialect's verifier has the last word. What it refuses here is a fault of the frontend, said
/// as such.
static bool verifies(mlir::ModuleOp module, DiagnosticEngine &engine) {
  std::string reason;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (reason.empty())
      reason = diagnostic.str();
    return mlir::success();
  });
  if (mlir::succeeded(mlir::verify(module)))
    return true;
  engine.error({}, "internal error of dlc, the program is not at fault").hint(reason);
  return false;
}

mlir::OwningOpRef<mlir::ModuleOp> compile(SourceManager &sources, FileId file,
                                          const FrontendOptions &options,
                                          mlir::MLIRContext &context, DiagnosticEngine &engine) {
  context.loadDialect<dl::DLDialect>();
  Program program(sources, options, context, engine);
  Module *main = program.load(file);
  if (!main || engine.hasErrors())
    return {};
  program.readDefines(*main);
  if (engine.hasErrors())
    return {};
  CompileTimeEvaluator(program, *main).evaluateConstants();
  mlir::OwningOpRef<mlir::ModuleOp> module(
      mlir::ModuleOp::create(mlir::FileLineColLoc::get(&context, sources.name(file), 1, 1)));
  SectionCompiler(program, *main, *module).run();
  if (engine.hasErrors() || !verifies(*module, engine))
    return {};
  // Beside errors they would only distract. A file of blocks alone is there to be imported.
  if (!main->tree->sections.empty())
    warnUnused(program, *main);
  if (engine.hasErrors())
    return {};
  return module;
}

mlir::OwningOpRef<mlir::ModuleOp> compile(SourceManager &sources, llvm::StringRef path,
                                          const FrontendOptions &options,
                                          mlir::MLIRContext &context, DiagnosticEngine &engine) {
  std::string error;
  FileId file = sources.load(path, error);
  if (file == noFile) {
    engine.error({}, "cannot read '" + path + "'").hint(error);
    return {};
  }
  return compile(sources, file, options, context, engine);
}

} // namespace dlc::frontend
