//===- dlc.cpp - the compiler's command -----------------------------------------------------------------------------===//
//
// `dlc model.dl` compiles; `dlc check`, `dlc fmt` and `dlc lsp` are for writing models.
// Exit codes: 0 done, 1 the model or the machine is at fault and it has been said why, 2 the command line is.
//
//===----------------------------------------------------------------------------------------------------------------===//
#include "tools/dlc/Commands.h"
#include "tools/dlc/Driver.h"
#include <string_view>

int main(int argc, char **argv) {
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
