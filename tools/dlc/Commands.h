//===- Commands.h - what dlc does besides compiling ---------------------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_COMMANDS_H
#define DLC_TOOLS_DLC_COMMANDS_H

namespace dlc::tool {

// Each is given its own part of the command line, from its name on, and returns the exit code.

/// `dlc check model.dl`: the errors and warnings of the language and of the model, as text or as
/// JSON.
int runCheck(int argc, char **argv);
/// `dlc fmt model.dl...`: canonical layout, in place.
int runFormat(int argc, char **argv);
/// `dlc lsp`: a language server on standard input and output.
int runLanguageServer(int argc, char **argv);

} // namespace dlc::tool

#endif
