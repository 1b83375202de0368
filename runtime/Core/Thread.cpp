// Priorities of threads.
#include "runtime/Core/Thread.h"

#include <unistd.h>

namespace dlc::runtime {

void stepBack() {
  // Elsewhere than on Linux it is the whole process that is nice.
#ifdef __linux__
  constexpr int less = 15;
  [[maybe_unused]] const int priority = nice(less);
#endif
}

} // namespace dlc::runtime
