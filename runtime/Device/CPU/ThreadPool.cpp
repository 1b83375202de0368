// The pool's hand-over protocol; see ThreadPool.h for the idea.
#include "runtime/Device/CPU/ThreadPool.h"
#include "runtime/Core/Thread.h"

#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dlc::runtime {

static void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb"); // yield does nothing there
#endif
}

/// Spins until `condition` holds, for a moment only: about as long as waking a sleeping thread
/// takes.
template <typename Condition> static bool spinUntil(Condition &&condition) {
  using Clock = std::chrono::steady_clock;
  constexpr auto limit = std::chrono::microseconds(50);
  constexpr int pausesPerLook = 16;
  const Clock::time_point start = Clock::now();
  do {
    for (int i = 0; i < pausesPerLook; ++i) {
      if (condition())
        return true;
      pause();
    }
  } while (Clock::now() - start < limit);
  return condition();
}

// The object is complete before the first thread: if one cannot be had, the destructor ends those
// that could.
ThreadPool::ThreadPool(unsigned threads) : ThreadPool() {
  workers.reserve(threads);
  for (unsigned i = 1; i < threads; ++i)
    workers.push_back(startThread([this, i] { work(i); }));
}

ThreadPool::~ThreadPool() {
  stopping.store(true);
  generation.fetch_add(1);
  generation.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(uint32_t tasks, Task task, const void *context) {
  if (tasks <= 1 || workers.empty()) {
    for (uint32_t i = 0; i < tasks; ++i)
      task(context, i, 0);
    return;
  }
  const uint64_t launch = ((ticket.load(std::memory_order_relaxed) >> 32) + 1) << 32;
  ticket.store(launch | closed, std::memory_order_relaxed);
  done.store(0, std::memory_order_relaxed);
  taskCount.store(tasks, std::memory_order_release);
  taskFunction.store(task, std::memory_order_release);
  taskContext.store(context, std::memory_order_release);
  ticket.store(launch, std::memory_order_release);
  generation.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping.load(std::memory_order_seq_cst) != 0)
    generation.notify_all();

  takeTasks(0);
  auto finished = [&] { return done.load(std::memory_order_acquire) == tasks; };
  while (!spinUntil(finished)) {
    const uint32_t seen = done.load(std::memory_order_acquire);
    if (seen != tasks)
      done.wait(seen, std::memory_order_acquire);
  }
}

/// Takes and runs tasks of the current launch until none is left.
void ThreadPool::takeTasks(unsigned thread) {
  uint64_t current = ticket.load(std::memory_order_acquire);
  uint32_t finished = 0;
  const uint64_t launch = current >> 32;
  const uint32_t tasks = taskCount.load(std::memory_order_acquire);
  const Task task = taskFunction.load(std::memory_order_acquire);
  const void *context = taskContext.load(std::memory_order_acquire);
  while (current >> 32 == launch && static_cast<uint32_t>(current) < tasks) {
    if (!ticket.compare_exchange_weak(current, current + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
      continue;
    task(context, static_cast<uint32_t>(current), thread);
    ++finished;
    current = ticket.load(std::memory_order_acquire);
  }
  if (finished == 0)
    return;
  // Tasks were taken, so the launch cannot end before this addition.
  if (done.fetch_add(finished, std::memory_order_acq_rel) + finished == tasks && thread != 0)
    done.notify_one();
}

void ThreadPool::work(unsigned thread) {
  uint32_t seen = 0;
  while (true) {
    auto moved = [&] { return generation.load(std::memory_order_acquire) != seen; };
    if (!spinUntil(moved)) {
      sleeping.fetch_add(1, std::memory_order_seq_cst);
      generation.wait(seen, std::memory_order_seq_cst);
      sleeping.fetch_sub(1, std::memory_order_relaxed);
    }
    if (stopping.load())
      return;
    seen = generation.load(std::memory_order_acquire);
    takeTasks(thread);
  }
}

} // namespace dlc::runtime
