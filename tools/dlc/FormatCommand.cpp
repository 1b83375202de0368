//===- FormatCommand.cpp - dlc fmt: canonical layout ------------------------------------------===//
//
// Rewrites files in place, or with --check only says which would change. A file with a syntax error
// is left as it is.
//
//===------------------------------------------------------------------------------------------===//
#include "frontend/DL/Syntax/Format.h"
#include "runtime/Core/FileWriter.h"
#include "tools/CommandLine/CommandLine.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/CommonOptions.h"
#include "llvm/Support/raw_ostream.h"

using namespace dlc::frontend;

namespace dlc::tool {

namespace {
struct FormatOptions {
  std::vector<std::string> files;
  bool check = false;
  bool print = false;
};
} // namespace

/// 0 if the file is canonical now; 1 if it is not or has errors.
static int formatFile(const std::string &path, const FormatOptions &options) {
  SourceManager sources;
  DiagnosticEngine engine;
  std::string reason;
  FileId file = sources.load(path, reason);
  if (file == noFile)
    engine.error({}, "cannot read '" + path + "'").hint(reason);
  std::optional<std::string> text = file == noFile ? std::nullopt : format(sources, file, engine);
  if (!text) {
    render(engine, sources, llvm::errs());
    return 1;
  }
  if (options.print) {
    llvm::outs() << *text;
    return 0;
  }
  if (*text == sources.text(file))
    return 0;
  if (options.check) {
    llvm::errs() << path << ": not in canonical layout; dlc fmt " << path << " rewrites it\n";
    return 1;
  }
  if (dlc::runtime::Status written = dlc::runtime::writeFile(path, *text); !written.ok()) {
    llvm::errs() << "error: " << written.message() << '\n';
    return 1;
  }
  return 0;
}

int runFormat(int argc, char **argv) {
  CLI::App app("Brings models into the canonical layout, in place.", "dlc fmt");
  FormatOptions options;
  app.add_option("models", options.files, "model files (.dl)")->required()->option_text(" ");
  auto *check = app.add_flag("--check", options.check,
                             "change nothing; exit with 1 if a file is not canonical");
  app.add_flag("--print", options.print, "print the result, change nothing")->excludes(check);
  if (const std::optional<int> ended = readCommandLine(app, argc, argv, advise))
    return *ended;
  int exitCode = 0;
  for (const std::string &path : options.files)
    exitCode |= formatFile(path, options);
  return exitCode;
}

} // namespace dlc::tool
