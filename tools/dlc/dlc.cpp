//===- dlc.cpp - the compiler's command -----------------------------------------------------------------------------===//
//
// `dlc model.dl` compiles; `dlc check`, `dlc fmt` and `dlc lsp` are for writing models.
// Exit codes: 0 done, 1 the model or the machine is at fault and it has been said why, 2 the command line is.
//
//===----------------------------------------------------------------------------------------------------------------===//
#include "tools/dlc/Commands.h"
#include "tools/dlc/Driver.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/StandardStreams.h"
#include <string_view>

static int run(int argc, char **argv) {
  std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "check")
    return dlc::tool::runCheck(argc - 1, argv + 1);
  if (word == "fmt")
    return dlc::tool::runFormat(argc - 1, argv + 1);
  if (word == "lsp")
    return dlc::tool::runLanguageServer(argc - 1, argv + 1);
  int exitCode = 0;
  std::optional<dlc::tool::Options> options = dlc::tool::parseCommandLine(argc, argv, exitCode);
  return options ? dlc::tool::compileModel(*options) : exitCode;
}

/// Whether what was written to one of LLVM's streams got lost. One that still knows of it at the program's end would call that
/// an internal error.
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
  return dlc::tool::finishStreams(exitCode == 0 && (lost || unheard) ? 1 : exitCode);
}

int main(int argc, char **argv) {
  dlc::tool::prepareStreams();
  return finish(run(argc, argv));
}
