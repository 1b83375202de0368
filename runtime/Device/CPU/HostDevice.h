// What devices that run on the host's processor share: memory, scratch for threads, their number.
#ifndef DLC_RUNTIME_DEVICE_CPU_HOSTDEVICE_H
#define DLC_RUNTIME_DEVICE_CPU_HOSTDEVICE_H

#include "runtime/Device/CPU/HostMemory.h"
#include "runtime/Device/Device.h"

namespace dlc::runtime {

Result<std::unique_ptr<DeviceMemory>> allocateOnHost(uint64_t bytes);

/// Room for each thread, on pages of its own: threads share no cache line, and no prefetcher
/// crosses over.
struct ThreadScratch {
  HostMemory memory;
  uint64_t stride;
};
Result<ThreadScratch> allocateScratch(uint64_t bytes, unsigned threads);

/// Device::properties() of a device on the host's processor.
std::string hostProperties(std::string_view device, unsigned threads);

/// Accumulators of the last two runs, for queues whose runs are done when they end.
class HostResults {
public:
  /// Allocates what end() needs.
  void begin(const RunStart &start);
  void end();
  std::span<const float> of(unsigned slot) const { return values[slot]; }

private:
  std::vector<const std::byte *> from;
  unsigned slot = 0;
  std::vector<float> values[2];
};

/// The number of threads asked for, 0 resolved to the processors that this process may use. Fails
/// for an absurd number.
Result<unsigned> checkedThreads(unsigned asked);

} // namespace dlc::runtime

#endif
