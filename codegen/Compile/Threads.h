//===- Threads.h - threads beside the calling one -----------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_COMPILE_THREADS_H
#define DLC_CODEGEN_COMPILE_THREADS_H

#include <functional>

namespace dlc::codegen {

/// Runs `work` on `threads` threads at once, this one among them, and waits for all; 0: one a core.
/// On fewer where there are fewer `pieces` of work, or the system refuses more.
void runOnThreads(unsigned threads, size_t pieces, const std::function<void()> &work);

} // namespace dlc::codegen

#endif
