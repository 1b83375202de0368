//===- Driver.cpp - one compilation ---------------------------------------------------------------------------------===//
//
// The way through the house: frontend, passes on dl, conversion, kernel selection, plan, code, module. Each `--emit` stops behind
// its stage and prints what is there.
//
//===----------------------------------------------------------------------------------------------------------------===//
#include "tools/dlc/Driver.h"
#include "codegen/Plan/Link.h"
#include "codegen/Plan/ModuleCompiler.h"
#include "codegen/Plan/Report.h"
#include "frontend/DL/Frontend.h"
#include "mlir/Pass/PassManager.h"
#include "tools/dlc/Diagnostics.h"
#include "tools/dlc/Names.h"

using namespace mlir;

namespace dlc::tool {

namespace {

class Driver {
public:
  explicit Driver(const Options &options) : options(options), context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<dl::DLDialect, exec::ExecDialect>();
  }

  int run() {
    DiagnosticForwarder forwarder(context, sources, engine);
    LogicalResult result = compile();
    if (failed(result) && !engine.hasErrors())
      engine.error({}, "internal error of dlc: a pass failed without saying why");
    render(engine, sources, llvm::errs());
    return failed(result) ? 1 : 0;
  }

private:
  LogicalResult compile();
  LogicalResult runPasses(llvm::function_ref<void(OpPassManager &)> add);
  LogicalResult compileTarget();
  LogicalResult printKernels(ArrayRef<codegen::SelectedKernel> kernels, const codegen::CpuTarget &target);
  LogicalResult writeText(llvm::StringRef text);
  LogicalResult writeModule();
  LogicalResult check(llvm::Error error);

  const Options &options;
  MLIRContext context;
  frontend::SourceManager sources;
  frontend::DiagnosticEngine engine;
  OwningOpRef<ModuleOp> module;
  DLPipelineOptions pipeline;
};

/// Reports a failure of a library that has no place in the source.
LogicalResult Driver::check(llvm::Error error) {
  if (!error)
    return success();
  engine.error({}, llvm::toString(std::move(error)));
  return failure();
}

LogicalResult Driver::writeText(StringRef text) {
  if (!options.output.empty())
    return check(codegen::writeFile(options.output, text));
  llvm::outs() << text;
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return success();
  llvm::outs().clear_error();
  engine.error({}, "cannot write to standard output");
  return failure();
}

LogicalResult Driver::writeModule() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return writeText(text);
}

LogicalResult Driver::runPasses(llvm::function_ref<void(OpPassManager &)> add) {
  PassManager manager(&context);
  add(manager);
  return manager.run(*module);
}

LogicalResult Driver::compile() {
  frontend::FrontendOptions language{options.defines, options.includeDirs, options.trainSection, options.inferBatches,
                                     options.inputGradients};
  module = frontend::compile(sources, options.input, language, context, engine);
  if (!module)
    return failure();
  if (options.emit == Emit::Names)
    return writeText(listNames(*module));
  if (options.emit == Emit::DL)
    return writeModule();
  pipeline = {options.inputGradients, options.disabledPasses};
  if (failed(runPasses([&](OpPassManager &manager) { addTrainPasses(manager, pipeline); })))
    return failure();
  if (options.emit == Emit::DLTrain)
    return writeModule();
  if (failed(runPasses([&](OpPassManager &manager) { addFusionPasses(manager, pipeline); })))
    return failure();
  if (options.emit == Emit::DLFused)
    return writeModule();
  return compileTarget();
}

LogicalResult Driver::compileTarget() {
  llvm::Expected<codegen::CpuTarget> target = codegen::CpuTarget::get(options.target);
  if (!target)
    return check(target.takeError());
  FailureOr<std::vector<codegen::SelectedKernel>> kernels = codegen::planModule(*module, *target, pipeline);
  if (failed(kernels))
    return failure();
  switch (options.emit) {
  case Emit::Exec:
    return writeModule();
  case Emit::Report: {
    std::string text;
    llvm::raw_string_ostream stream(text);
    codegen::printReport(codegen::buildReport(*module, *target), stream);
    return writeText(text);
  }
  case Emit::Kernels:
  case Emit::Assembly:
    return printKernels(*kernels, *target);
  default:
    break;
  }
  codegen::CompileOptions compilation;
  compilation.cache = options.cache;
  compilation.threads = options.threads;
  llvm::Expected<std::string> bytes = codegen::compileModule(*module, *kernels, *target, compilation);
  if (!bytes)
    return check(bytes.takeError());
  return check(codegen::writeFile(options.output, *bytes));
}

/// Each kernel as its generator emitted it, or as assembly.
LogicalResult Driver::printKernels(ArrayRef<codegen::SelectedKernel> kernels, const codegen::CpuTarget &target) {
  bool assembly = options.emit == Emit::Assembly;
  std::string all;
  for (const codegen::SelectedKernel &kernel : kernels) {
    llvm::Expected<std::string> text =
        codegen::printKernel(kernel, target, assembly ? codegen::KernelText::Assembly : codegen::KernelText::MLIR);
    if (!text)
      return check(text.takeError());
    all += (assembly ? "# " : "// ") + kernel.symbol + ": " + kernel.generator->name().str() + ", " + kernel.candidate.schedule + "\n" + *text;
  }
  return writeText(all);
}

} // namespace

int compileModel(const Options &options) { return Driver(options).run(); }

} // namespace dlc::tool
