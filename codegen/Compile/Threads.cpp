// The C++ library throws where a thread cannot be had; the rest of the compiler knows no
// exceptions.
#include "codegen/Compile/Threads.h"
#include "runtime/Core/Processors.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

void dlc::codegen::runOnThreads(unsigned threads, size_t pieces,
                                const std::function<void()> &work) {
  const size_t wanted =
      std::min<size_t>(threads ? threads : runtime::processors().threads(), pieces);
  std::vector<std::thread> others;
  try {
    while (others.size() + 1 < wanted)
      others.emplace_back(work);
  } catch (const std::system_error &) {
    // Those that there are do the work.
  }
  work();
  for (std::thread &thread : others)
    thread.join();
}
