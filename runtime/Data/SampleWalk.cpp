// Threads that take blocks.
#include "runtime/Data/SampleWalk.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace dlc::runtime {
namespace {

/// What the threads of a walk share.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t begun = 0, done = 0, doneSamples = 0;
  /// The first block that failed.
  uint64_t failed = UINT64_MAX;
  Status status;
};

void work(const SampleWalk &walk, unsigned thread, Shared &shared,
          const std::function<Status(const SampleBlock &)> &body) {
  std::unique_lock lock(shared.mutex);
  while (shared.begun < walk.blocks() && shared.failed == UINT64_MAX) {
    const uint64_t number = shared.begun++;
    const SampleBlock block = {number, number * walk.blockSamples,
                               std::min(walk.samples, (number + 1) * walk.blockSamples), thread};
    lock.unlock();
    Status status = guarded([&] { return body(block); });
    lock.lock();
    if (!status.ok() && number < shared.failed) {
      shared.failed = number;
      shared.status = std::move(status);
    }
    ++shared.done;
    shared.doneSamples += block.end - block.begin;
    shared.changed.notify_all();
  }
}

} // namespace

unsigned SampleWalk::mostThreads() const {
  return static_cast<unsigned>(std::clamp<uint64_t>(blocks(), 1, std::max(threads, 1u)));
}

Status SampleWalk::run(const std::function<Status(const SampleBlock &)> &body) const {
  Shared shared;
  std::vector<std::thread> workers;
  // Fewer threads than were asked for do it, too.
  Status started = guarded([&] {
    workers.reserve(mostThreads());
    for (unsigned thread = 0; thread < mostThreads(); ++thread)
      workers.push_back(startThread([&, thread] { work(*this, thread, shared, body); }));
    return Status();
  });
  if (workers.empty())
    return started;
  {
    std::unique_lock lock(shared.mutex);
    auto isOver = [&] {
      return shared.done == shared.begun &&
             (shared.begun == blocks() || shared.failed != UINT64_MAX);
    };
    while (!isOver()) {
      shared.changed.wait_for(lock, std::chrono::milliseconds(100), isOver);
      if (!progress)
        continue;
      const uint64_t done = shared.doneSamples;
      lock.unlock();
      progress(done);
      lock.lock();
    }
  }
  for (std::thread &worker : workers)
    worker.join();
  return std::move(shared.status);
}

} // namespace dlc::runtime
