// How every tool ends.
#ifndef DLC_TOOLS_COMMANDLINE_EXITCODE_H
#define DLC_TOOLS_COMMANDLINE_EXITCODE_H

namespace dlc::tool {

enum ExitCode {
  Done = 0,
  /// The input, the model or the machine is at fault; standard error says why.
  Failed = 1,
  /// The command line cannot be understood: an unknown flag or command, a value that is missing or
  /// none of those that exist.
  WrongUsage = 2,
};

} // namespace dlc::tool

#endif
