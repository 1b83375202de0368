// The C++ library throws where a thread cannot be had; the rest of the compiler knows no
// exceptions.
#include "codegen/Kernel/Threads.h"

#include <system_error>

std::vector<std::thread> dlc::codegen::startThreads(size_t count,
                                                    const std::function<void()> &work) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count)
      threads.emplace_back(work);
  } catch (const std::system_error &) {
    // Those that there are do the work.
  }
  return threads;
}
