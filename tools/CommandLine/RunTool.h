// What stands around a program of dlc without LLVM.
#ifndef DLC_TOOLS_COMMANDLINE_RUNTOOL_H
#define DLC_TOOLS_COMMANDLINE_RUNTOOL_H

#include "dlc/status.h"

#include <functional>

namespace dlc::tool {

/// Runs all that a program does and gives its exit code. A failure, thrown or returned, is one line
/// on standard error and exit code 1, and so is output that is lost. A failure without a message is
/// said by another process.
int runTool(const std::function<runtime::Result<int>()> &body);

} // namespace dlc::tool

#endif
