//===- dlc.cpp - the compiler's command -----------------------------------------------------------------------------===//
//
// Exit codes: 0 done, 1 the model or the machine is at fault and it has been said why, 2 the command line is.
//
//===----------------------------------------------------------------------------------------------------------------===//
#include "tools/dlc/Driver.h"

int main(int argc, char **argv) {
  int exitCode = 0;
  std::optional<dlc::tool::Options> options = dlc::tool::parseCommandLine(argc, argv, exitCode);
  return options ? dlc::tool::compileModel(*options) : exitCode;
}
