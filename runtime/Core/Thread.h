// Starting threads, in the one way that says what happened if there is none.
#ifndef DLC_RUNTIME_CORE_THREAD_H
#define DLC_RUNTIME_CORE_THREAD_H

#include <system_error>
#include <thread>

namespace dlc::runtime {

/// A thread that runs `body`. Throws where the system refuses one; guarded() makes a Status of it.
template <typename Body> std::thread startThread(Body &&body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error &error) {
    throw std::system_error(error.code(), "cannot start a thread");
  }
}

} // namespace dlc::runtime

#endif
