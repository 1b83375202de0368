//===- dlc.cpp - the compiler's command -------------------------------------------------------===//
//
// `dlc model.dl` compiles, with the code that `dlc tune` found to be the fastest; `dlc check`,
// `dlc fmt` and `dlc lsp` are for writing models.
// Exit codes are those of all tools, see ExitCode.h.
//
//===------------------------------------------------------------------------------------------===//
#include "tools/CommandLine/CommandLine.h"
#include "tools/CommandLine/StandardStreams.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/CommonOptions.h"
#include "tools/dlc/Driver.h"
#include "tools/dlc/Failures.h"
#include "tools/dlc/Options.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace dlc::tool;

/// A word, where a model file should stand, that is no file: `dlc chek`.
static bool isMeantAsCommand(llvm::StringRef word) {
  return !word.empty() && !word.contains('.') && !word.contains('/') && !word.starts_with("-") &&
         !llvm::sys::fs::exists(word);
}

static int serveEditors(int argc, char **argv) {
  CLI::App app("Answers an editor's questions: a language server on standard input and output.",
               "dlc lsp");
  app.allow_extras();
  const std::optional<int> ended = readCommandLine(app, argc, argv, advise);
  return ended ? *ended : runLanguageServer(argc, argv);
}

static int run(int argc, char **argv) {
  llvm::StringRef word = argc > 1 ? argv[1] : "";
  if (word == "check")
    return runCheck(argc - 1, argv + 1);
  if (word == "fmt")
    return runFormat(argc - 1, argv + 1);
  if (word == "lsp")
    return serveEditors(argc - 1, argv + 1);
  int exitCode = Done;
  if (word == "tune") {
    std::optional<Options> options = parseTuneCommandLine(argc - 1, argv + 1, exitCode);
    if (!options)
      return exitCode;
    return options->measured.empty() ? tuneModel(*options) : measureMachine(*options);
  }
  if (isMeantAsCommand(word))
    return reportUnknownCommand(word.str(), {"check", "fmt", "lsp", "tune"}, advise);
  std::optional<Options> options = parseCommandLine(argc, argv, exitCode);
  return options ? compileModel(*options) : exitCode;
}

/// Whether what was written to one of LLVM's streams got lost. One that still knows of it at the
/// program's end would call that an internal error.
template <typename Stream> static std::error_code takeError(Stream &stream) {
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

static int finish(int exitCode) {
  std::error_code lost = takeError(llvm::outs());
  if (lost)
    llvm::errs() << "error: cannot write to standard output: " << lost.message() << '\n';
  bool unheard = bool(takeError(llvm::errs()));
  return finishStreams(exitCode == Done && (lost || unheard) ? Failed : exitCode);
}

int main(int argc, char **argv) {
  prepareStreams();
  installFailureHandlers();
  return finish(run(argc, argv));
}
