// Runs the frontend alone, for its tests: prints the module, or the diagnostics.
//
//   dlc-frontend [--locations] [-D NAME=value]... [-I DIR]... [--train NAME] [--infer-batch K]...
//   file.dl
#include "frontend/DL/Frontend.h"

#include "CLI/CLI.hpp"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  CLI::App app{"prints the dl module of a model"};
  dlc::frontend::FrontendOptions options;
  std::string path;
  bool locations = false;
  app.add_option("file", path)->required();
  app.add_option("-D", options.defines)->allow_extra_args(false);
  app.add_option("-I", options.includeDirs)->allow_extra_args(false);
  app.add_option("--train", options.trainSection);
  app.add_option("--infer-batch", options.inferBatches)->delimiter(',');
  app.add_flag("--locations", locations);
  CLI11_PARSE(app, argc, argv);

  mlir::MLIRContext context;
  dlc::frontend::SourceManager sources;
  dlc::frontend::DiagnosticEngine engine;
  auto module = dlc::frontend::compile(sources, path, options, context, engine);
  dlc::frontend::render(engine, sources, llvm::errs());
  if (!module)
    return 1;
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, /*prettyForm=*/true);
  module->print(llvm::outs(), flags);
  llvm::outs() << '\n';
  return 0;
}
