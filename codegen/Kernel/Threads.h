//===- Threads.h - threads beside the calling one -----------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_KERNEL_THREADS_H
#define DLC_CODEGEN_KERNEL_THREADS_H

#include <functional>
#include <thread>
#include <vector>

namespace dlc::codegen {

/// Starts up to `count` threads that run `work`: fewer where the system refuses more.
std::vector<std::thread> startThreads(size_t count, const std::function<void()> &work);

} // namespace dlc::codegen

#endif
