// What stands around a program of dlc without LLVM.
#ifndef DLC_TOOLS_COMMANDLINE_RUNTOOL_H
#define DLC_TOOLS_COMMANDLINE_RUNTOOL_H

#include "dlc/status.h"

#include <functional>

namespace dlc::tool {

/// The one line on standard error that a failure is; nothing for one without a message, which
/// another process says.
void sayError(const runtime::Status &status);

/// Runs all that a program does and gives its exit code. A failure, thrown or returned, is one line
/// on standard error and exit code 1, and so is output that is lost.
int runTool(const std::function<runtime::Result<int>()> &body);

} // namespace dlc::tool

#endif
