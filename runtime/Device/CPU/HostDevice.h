// What devices that run on the host's processor share: memory, scratch for threads, their number.
#ifndef DLC_RUNTIME_DEVICE_CPU_HOSTDEVICE_H
#define DLC_RUNTIME_DEVICE_CPU_HOSTDEVICE_H

#include "runtime/Collectives/RecordSum.h"
#include "runtime/Core/HostMemory.h"
#include "runtime/Device/Device.h"

#include <deque>
#include <map>

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
  std::span<const std::byte> of(unsigned slot) const { return values[slot]; }

private:
  std::vector<AccumulatorPlace> places;
  unsigned slot = 0;
  std::vector<std::byte> values[2];
};

/// Collectives of a run that were started on a stream and are not waited for yet.
class StartedSums {
public:
  explicit StartedSums(Transport &ranks) : ranks(ranks) {}

  /// Notes from now on when sums began and ended; null: does not.
  void setTimeline(Timeline *noted) { timeline = noted; }
  /// Starts one, over host memory that nobody touches until it is waited for.
  Status start(uint32_t stream, const DeviceCollective &collective);
  /// Marks what `stream` has so far; waitFor() waits for that.
  void record(uint32_t stream, uint32_t event);
  Status waitFor(uint32_t event);
  /// Waits for all that a stream has, and for all.
  Status finish(uint32_t stream);
  Status finish();

private:
  struct Started {
    Transport::Ticket ticket;
    uint32_t record;
    RecordSum *sum;
    Collective::Times times;
  };
  /// Those of a stream that are not waited for, and how many were before them.
  struct Stream {
    std::deque<Started> started;
    size_t before = 0;
  };
  Status waitUntil(Stream &stream, size_t count);

  Transport &ranks;
  Timeline *timeline = nullptr;
  /// By record.
  std::map<uint32_t, RecordSum> sums;
  std::map<uint32_t, Stream> streams;
  /// For each event the stream that recorded it, and how many that had.
  std::map<uint32_t, std::pair<uint32_t, size_t>> events;
};

/// The number of threads asked for, 0 resolved to what this process has cores and time for. Fails
/// for an absurd number.
Result<unsigned> checkedThreads(unsigned asked);

} // namespace dlc::runtime

#endif
