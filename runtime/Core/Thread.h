// Starting threads, in the one way that says what happened if there is none, and work on all
// processors outside of a plan.
#ifndef DLC_RUNTIME_CORE_THREAD_H
#define DLC_RUNTIME_CORE_THREAD_H

#include "runtime/Core/Processors.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace dlc::runtime {

/// A thread that runs `body`. Throws where the system refuses one; guarded() makes a Status of it.
template <typename Body> std::thread startThread(Body &&body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error &error) {
    throw std::system_error(error.code(), "cannot start a thread");
  }
}

/// Lets the processors' other work go before the calling thread: where all of them are busy, it has
/// about a thirtieth of one. Nothing happens where threads have no priorities of their own.
void stepBack();

/// Calls body(piece), which must not throw, for 0 .. pieces - 1 on as many threads as this process
/// has cores and time for: on fewer where the system refuses them.
template <typename Body> void forEachPiece(uint64_t pieces, const Body &body) {
  std::atomic<uint64_t> next = 0;
  auto work = [&] {
    for (uint64_t piece = next++; piece < pieces; piece = next++)
      body(piece);
  };
  if (pieces <= 1)
    return work();
  std::vector<std::thread> helpers;
  const uint64_t wanted = std::min<uint64_t>(processors().threads(), pieces);
  helpers.reserve(wanted - 1);
  try {
    while (helpers.size() + 1 < wanted)
      helpers.emplace_back(work);
  } catch (const std::system_error &) {
  }
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

} // namespace dlc::runtime

#endif
