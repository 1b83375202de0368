// Noting spans.
#include "dlc/timeline.h"

#include <new>

namespace dlc::runtime {

void Timeline::add(SpanKind kind, uint32_t number, int64_t begin, int64_t end) noexcept {
  std::lock_guard lock(mutex);
  try {
    all.push_back({kind, number, step, begin, end});
  } catch (const std::bad_alloc &) {
    lost = true;
  }
}

} // namespace dlc::runtime
