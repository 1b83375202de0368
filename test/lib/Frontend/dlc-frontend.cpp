// Runs the frontend alone, for its tests: prints the module, or the diagnostics.
//
//   dlc-frontend [--locations] [-D NAME=value]... [-I DIR]... [--train NAME] [--infer-batch K]...
//   file.dl
//   dlc-frontend --words | --table      the words of the language; the tables of docs/language.md
#include "frontend/DL/Builtins/Builtins.h"
#include "frontend/DL/Frontend.h"
#include "frontend/DL/Syntax/Lexer.h"

#include "CLI/CLI.hpp"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

/// Every word of the language with its kind, for the test of the grammar for highlighting.
static int printWords() {
  for (llvm::StringRef word : dlc::frontend::keywords())
    llvm::outs() << "keyword " << word << '\n';
  for (llvm::StringRef word : dlc::frontend::dtypeWords())
    llvm::outs() << "dtype " << word << '\n';
  for (llvm::StringRef word : dlc::frontend::statementWords())
    llvm::outs() << "word " << word << '\n';
  return 0;
}

int main(int argc, char **argv) {
  CLI::App app{"prints the dl module of a model"};
  dlc::frontend::FrontendOptions options;
  std::string path;
  bool locations = false;
  app.add_option("file", path);
  app.add_option("-D", options.defines)->allow_extra_args(false);
  app.add_option("-I", options.includeDirs)->allow_extra_args(false);
  app.add_option("--train", options.trainSection);
  app.add_option("--infer-batch", options.inferBatches)->delimiter(',');
  app.add_flag("--locations", locations);
  bool words = false, table = false;
  app.add_flag("--words", words);
  app.add_flag("--table", table);
  CLI11_PARSE(app, argc, argv);
  if (words)
    return printWords();
  if (table) {
    llvm::outs() << dlc::frontend::builtinTables();
    return 0;
  }

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
