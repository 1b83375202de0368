// The SIMT device: runs a CUDA plan on the CPU to find errors that a GPU would hide most of the
// time. Kernels are the plan's kernel text compiled for the host, one task a block; memory is the
// host's. What CUDA leaves open is chosen by a seed, differently in each run:
//
//   - commands of different streams run in any order that events allow (Schedule.h);
//   - the blocks of a launch run in a random order, and each kernel gets a seed for its own
//   threads;
//   - the arena holds garbage at the start of a run: by turns not-a-numbers and huge numbers.
//
// Streams are those of a run, all of which is done when it has ended: with a stream of the
// program's there is nothing to put in order, and memory of the program's on the device is the
// host's.
//
// A kernel that finds itself in error (an access outside of a buffer, a divergent barrier) ends the
// run with a Status that names layer, kernel, block, thread and source line.
#ifndef DLC_RUNTIME_DEVICE_SIMT_SIMTDEVICE_H
#define DLC_RUNTIME_DEVICE_SIMT_SIMTDEVICE_H

#include "runtime/Device/CPU/HostDevice.h"
#include "runtime/Device/CPU/ThreadPool.h"
#include "runtime/Device/Device.h"

#include <mutex>

namespace dlc::runtime {

class SimtDevice : public Device, public std::enable_shared_from_this<SimtDevice> {
public:
  SimtDevice(unsigned threads, const SimtOptions &options)
      : threadPool(threads), initialSeed(options.seed), libraries(options.libraries) {}

  std::string_view name() const override { return "simt"; }
  dlc_target target() const override { return DLC_TARGET_SIMT; }
  std::string properties() const override { return hostProperties("simt", threadPool.threads()); }
  bool sharesHostMemory() const override { return true; }
  Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) override;
  Result<std::unique_ptr<CommandQueue>> createQueue(std::shared_ptr<const Module> module,
                                                    const EntryInfo &entry) override;

  Result<std::vector<CallReport>> probe(std::shared_ptr<const Module> module) override;

  ThreadPool &pool() { return threadPool; }
  uint64_t seed() const { return initialSeed; }
  bool hasLibraries() const { return libraries; }
  /// Held by the queue whose run is in progress.
  std::mutex &running() { return runMutex; }

private:
  ThreadPool threadPool;
  uint64_t initialSeed;
  bool libraries;
  std::mutex runMutex;
};

} // namespace dlc::runtime

#endif
