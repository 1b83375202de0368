// What a process did and when: the time stamps behind a trace, and behind figures of what ran
// beside what.
//
//   Timeline timeline;
//   context->setTimeline(&timeline);
//   context->run();
//   for (const Span &span : timeline.spans()) ...
//
// Ownership: whoever makes a Timeline keeps it as long as something notes spans in it. Threads: any
// number may add; spans() needs a moment at which none does. Failure: where memory ends spans are
// lost, and complete() says so.
#ifndef DLC_TIMELINE_H
#define DLC_TIMELINE_H

#include "dlc/version.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace dlc::runtime {

/// Nanoseconds of the steady clock, which processes of one machine share.
inline int64_t steadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

enum class SpanKind : uint32_t {
  // Of the thread that trains or runs an entry. A step has runs, and runs have kernels and waits.
  Step,        ///< From the moment at which its batch is there.
  Run,         ///< One run of an entry; `number`: of the entry.
  Kernel,      ///< A launch, library call, copy or fill; `number`: of the record.
  Wait,        ///< For an event; `number`: of the record.
  WaitForData, ///< Between steps.
  SumMetrics,  ///< Over the ranks, inside of a step.
  Evaluation,  ///< Has runs.
  Checkpoint,  ///< What the training stands still for.
  // Beside that thread.
  Collective, ///< From the moment at which the transport begins; `number`: of the record.
  LoadData,   ///< Putting a batch together; `number`: of the batch in its pass.
  WriteCheckpoint,
};

struct Span {
  SpanKind kind;
  uint32_t number;
  /// Of training, from 1; 0 outside of it.
  uint64_t step;
  int64_t begin, end;
};

class DLC_API Timeline {
public:
  void setStep(uint64_t number) { step = number; }
  void add(SpanKind kind, uint32_t number, int64_t begin, int64_t end) noexcept;
  /// In the order in which they ended.
  std::span<const Span> spans() const { return all; }
  bool complete() const { return !lost; }

private:
  std::atomic<uint64_t> step{0};
  std::mutex mutex;
  std::vector<Span> all;
  bool lost = false;
};

/// Notes a span from here to the end of the scope; does nothing without a timeline.
class TimedScope {
public:
  TimedScope(Timeline *timeline, SpanKind kind, uint32_t number = 0)
      : timeline(timeline), kind(kind), number(number), begin(timeline ? steadyNanoseconds() : 0) {}
  TimedScope(const TimedScope &) = delete;
  TimedScope &operator=(const TimedScope &) = delete;
  ~TimedScope() {
    if (timeline)
      timeline->add(kind, number, begin, steadyNanoseconds());
  }

private:
  Timeline *timeline;
  SpanKind kind;
  uint32_t number;
  int64_t begin;
};

} // namespace dlc::runtime

#endif
