//===- Failures.h - where LLVM cannot go on -----------------------------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_FAILURES_H
#define DLC_TOOLS_DLC_FAILURES_H

namespace dlc::tool {

/// To be called first. LLVM is built without exceptions: where memory ends, or it meets what it did
/// not expect, it ends the program. From then on it does so in one line, without a trace, with exit
/// code 1, and removes its temporary files.
void installFailureHandlers();

} // namespace dlc::tool

#endif
