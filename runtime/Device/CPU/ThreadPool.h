// Runs the tasks of one launch after the other on a fixed set of threads.
//
// A training step of a small network has some thirty launches in a few milliseconds, so handing out
// a launch must cost about a microsecond: tasks are taken from one atomic counter, workers spin for
// a moment before they sleep, and a launch of one task never leaves the calling thread.
//
// Which thread runs which task is left to chance; kernels are written so that it does not matter
// (abi.h).
//
// Threads: run() by one thread at a time; a task must not throw. Failure: none after construction,
// which throws where a thread cannot be had.
#ifndef DLC_RUNTIME_DEVICE_CPU_THREADPOOL_H
#define DLC_RUNTIME_DEVICE_CPU_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace dlc::runtime {

class ThreadPool {
public:
  /// A task: `context` as given to run(), its number, and the number of the thread that runs it (0:
  /// the caller).
  using Task = void (*)(const void *context, uint32_t task, unsigned thread);

  /// `threads` includes the one that calls run().
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned threads() const { return static_cast<unsigned>(workers.size()) + 1; }

  /// Runs tasks 0 .. tasks - 1 and returns when all are done. What they wrote is visible to the
  /// caller.
  void run(uint32_t tasks, Task task, const void *context);

private:
  ThreadPool() = default;
  void work(unsigned thread);
  void takeTasks(unsigned thread);

  /// Lower half of a ticket that gives no task.
  static constexpr uint64_t closed = 0xffffffff;

  /// Number of the launch in the upper half, next task in the lower. A worker reads the ticket,
  /// then the launch, and takes a task by raising the ticket with compare-and-swap. The ticket is
  /// closed before the launch is overwritten, so success proves that what was read belongs
  /// together.
  alignas(64) std::atomic<uint64_t> ticket{0};
  /// Tasks of the current launch that are done.
  alignas(64) std::atomic<uint32_t> done{0};
  /// The current launch; atomic because a late worker may read them while the next is being
  /// written.
  alignas(64) std::atomic<uint32_t> taskCount{0};
  std::atomic<Task> taskFunction{nullptr};
  std::atomic<const void *> taskContext{nullptr};
  /// Changes with each launch; what sleeping workers wait on.
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleeping{0};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace dlc::runtime

#endif
