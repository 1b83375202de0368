// Goes over all samples of a dataset on several threads, so that what is made of them is the same
// for any number of threads: samples come in blocks, of which each is one thread's, and what blocks
// leave is put together in their order.
#ifndef DLC_RUNTIME_DATA_SAMPLEWALK_H
#define DLC_RUNTIME_DATA_SAMPLEWALK_H

#include "dlc/status.h"

#include <cstdint>
#include <functional>

namespace dlc::runtime {

/// Samples `begin` up to `end`, block number `number`, by thread number `thread`.
struct SampleBlock {
  uint64_t number, begin, end;
  unsigned thread;
};

struct SampleWalk {
  uint64_t samples = 0, blockSamples = 64;
  /// At least 1; no more are started than there are blocks.
  unsigned threads = 1;
  /// Called by the caller's thread about ten times a second with the samples of the blocks that are
  /// done.
  std::function<void(uint64_t done)> progress = {};

  uint64_t blocks() const { return (samples + blockSamples - 1) / blockSamples; }
  /// Threads that run() has at most: who has something for each has so many.
  unsigned mostThreads() const;
  /// Calls body for each block, by several threads at once. Fails with the first block, by number,
  /// whose body fails; later ones may not have been begun then.
  Status run(const std::function<Status(const SampleBlock &)> &body) const;
};

} // namespace dlc::runtime

#endif
