// What a device must offer so that the executor can walk a plan on it: the CPU, CUDA (a plugin) and
// SIMT implement it.
//
// The executor resolves buffers to addresses, walks the records in table order and issues commands;
// the device decides when they run, keeping the order of each stream and what events say.
//
// Ownership: memory and queues belong to who asked for them and keep the device alive.
// Threads: a Device may be used by several threads; a CommandQueue by one at a time.
#ifndef DLC_RUNTIME_DEVICE_DEVICE_H
#define DLC_RUNTIME_DEVICE_DEVICE_H

#include "dlc/device.h"
#include "dlc/module.h"
#include "dlc/timeline.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Support.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dlc::runtime {

/// A block of device memory, aligned to DLC_ALIGNMENT at least, zero when new.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// Address as kernels see it; not for the host to follow, except on a device whose memory is the
  /// host's.
  virtual std::byte *address() = 0;
  virtual uint64_t size() const = 0;
  /// Copies from and to the host, after all commands issued before. The range lies in the block.
  virtual Status write(uint64_t offset, std::span<const std::byte> source) = 0;
  virtual Status read(uint64_t offset, std::span<std::byte> destination) const = 0;
  /// The same from and to other memory of the device, which need not have been allocated here.
  /// Where that is not the host's, the copy is one of the device's commands, and nobody waits for
  /// it.
  virtual Status copyFrom(uint64_t offset, std::span<const std::byte> source) {
    return write(offset, source);
  }
  virtual Status copyTo(uint64_t offset, std::span<std::byte> destination) const {
    return read(offset, destination);
  }
};

/// One launch or library call, resolved: its buffers and constants.
struct Launch {
  /// Number of the record in the plan.
  uint32_t record;
  /// Number of the kernel or library call.
  uint32_t index;
  uint32_t tasks;
  dlc_args args;
};

/// A collective of a plan, resolved: its buffer is device memory.
struct DeviceCollective {
  /// Number of the record in the plan.
  uint32_t record;
  dlc_collective kind;
  uint32_t channel;
  dlc_dtype dtype;
  std::byte *buffer;
  uint64_t bytes;
  /// Of a compressed sum: what it has left out so far, in host memory.
  std::span<float> residual;
};

/// An accumulator: where it stands, and how many bytes it has.
struct AccumulatorPlace {
  const std::byte *from;
  uint64_t bytes;
};

/// What is known of a run before its commands.
struct RunStart {
  /// The entry's arena: contents undefined.
  std::byte *arena;
  /// Where each input of the entry stands.
  std::span<const std::byte *const> inputs;
  /// Whether each command is waited for, to time it.
  bool traced;
  /// The entry's accumulators.
  std::span<const AccumulatorPlace> accumulators;
  /// In which of two places the queue keeps the accumulators' values: runs take turns.
  unsigned slot;
  /// Where a queue that settles() notes its collectives; null: nowhere.
  Timeline *timeline;
};

/// Takes the commands of one entry's run. Streams and events are numbered as in the plan.
class CommandQueue {
public:
  virtual ~CommandQueue() = default;
  /// Begins a run: until end() no other queue of this device interferes. False if the queue has
  /// recorded the commands of a run with these inputs: then end() follows at once, and repeats
  /// them.
  virtual Result<bool> begin(const RunStart &start) = 0;
  /// `launch` lives as long as the queue.
  virtual Status launch(uint32_t stream, const Launch &launch) = 0;
  virtual Status library(uint32_t stream, const Launch &call) = 0;
  virtual Status copy(uint32_t stream, std::byte *to, const std::byte *from, uint64_t bytes) = 0;
  virtual Status fill(uint32_t stream, std::byte *to, uint8_t value, uint64_t bytes) = 0;
  /// Adds up over the ranks of the device, in place; commands of other streams go on beside it.
  virtual Status sum(uint32_t stream, const DeviceCollective &collective) = 0;
  virtual Status recordEvent(uint32_t stream, uint32_t event) = 0;
  virtual Status waitEvent(uint32_t stream, uint32_t event) = 0;
  /// Returns when all commands issued so far are done; in traced runs only. Gives the seconds that
  /// the last command took by the device's own clock, or none if it has none.
  virtual Result<std::optional<double>> synchronize() = 0;
  /// Ends the run, also one whose commands failed. They may still be at work.
  virtual Status end() = 0;
  /// Whether each command but a collective is done when it returns. Where it is not, time stamps
  /// need traced runs.
  virtual bool settles() const { return false; }
  /// Whether a library call of the entry is made, and not the launches that take its part.
  virtual bool accepts([[maybe_unused]] uint32_t call) const { return true; }
  /// Waits for the last run with this slot, and gives its accumulators, one behind the other: of
  /// whatever types, at any address.
  virtual Result<std::span<const std::byte>> results(unsigned slot) = 0;
};

/// What a library said to one call of a plan.
struct CallReport {
  bool accepted;
  /// How it would run, or why it will not.
  std::string detail;
};

/// What a device can do at most; 0 where that is not known.
struct DevicePeaks {
  /// Of float32, multiply and add counted as two.
  double flopsPerSecond = 0;
  double bytesPerSecond = 0;
};

class Device {
public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// What a module must have been compiled for.
  virtual dlc_target target() const = 0;
  /// What is known of the device, as one JSON object on one line.
  virtual std::string properties() const = 0;
  virtual DevicePeaks peaks() const { return {}; }
  /// Whether kernels may read host memory in place.
  virtual bool sharesHostMemory() const = 0;
  virtual Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) = 0;
  /// Memory for an input of every second run: a write need not wait for the run before.
  virtual Result<std::unique_ptr<DeviceMemory>> allocateStaging(uint64_t bytes) {
    return allocate(bytes);
  }
  /// Memory of the host from which the device takes inputs by itself, zero and aligned to
  /// DLC_ALIGNMENT; null where that is of no use, or there is no more of it. What is written from
  /// it to staging memory stays as it is until settle() has returned.
  virtual std::shared_ptr<std::byte> allocateHost([[maybe_unused]] uint64_t bytes) {
    return nullptr;
  }
  /// Waits for the inputs that are being taken from such memory; not for runs.
  virtual Status settle() { return {}; }
  /// The device's number as CUDA counts them; none where its memory is the host's.
  virtual std::optional<int> ordinal() const { return {}; }
  /// Fails if memory of the program's does not lie at `place`, as far as that can be known.
  virtual Status checkPlace([[maybe_unused]] const void *start,
                            [[maybe_unused]] Place place) const {
    return {};
  }
  /// What the device is given from now on comes behind all that the program's stream has; and what
  /// that stream is given from now on behind all that the device has. The host does not wait. A
  /// device whose commands are done when its calls return has nothing to do.
  virtual Status follow([[maybe_unused]] void *stream) { return {}; }
  virtual Status precede([[maybe_unused]] void *stream) { return {}; }
  /// Asks the libraries about all calls of a plan, in the order of the plan; runs nothing.
  virtual Result<std::vector<CallReport>>
  probe([[maybe_unused]] std::shared_ptr<const Module> module) {
    return std::vector<CallReport>(); // A device without libraries.
  }
  /// Says among which ranks this device is, before it makes a queue. It is alone else.
  void join(std::shared_ptr<Transport> transport) { joined = std::move(transport); }
  Transport &ranks() const { return *joined; }

  /// Fails with Unsupported if the entry has a record or kernel that this device cannot run.
  virtual Result<std::unique_ptr<CommandQueue>> createQueue(std::shared_ptr<const Module> module,
                                                            const EntryInfo &entry) = 0;

private:
  std::shared_ptr<Transport> joined = selfTransport();
};

/// Copies between the host and memory of the program's on a device; the host waits.
inline Result<std::vector<std::byte>> copyToHost(Device &device,
                                                 std::span<const std::byte> source) {
  std::vector<std::byte> copy(source.size());
  DLC_TRY_ASSIGN(memory, device.allocate(source.size()));
  DLC_TRY(memory->copyFrom(0, source));
  DLC_TRY(memory->read(0, copy));
  return copy;
}
inline Status copyFromHost(Device &device, std::span<const std::byte> source,
                           std::span<std::byte> destination) {
  DLC_TRY_ASSIGN(memory, device.allocate(source.size()));
  DLC_TRY(memory->write(0, source));
  DLC_TRY(memory->copyTo(0, destination));
  std::byte last{};
  return source.empty() ? Status() : memory->read(0, std::span(&last, 1));
}

/// Calls body(), which copies memory of the program's on the device, in order with its stream.
template <typename Body> Status inOrder(Device &device, void *stream, const Body &body) {
  DLC_TRY(device.follow(stream));
  Status copied = body();
  // Of what failed some copies may be under way.
  Status ordered = device.precede(stream);
  return copied.ok() ? std::move(ordered) : std::move(copied);
}

} // namespace dlc::runtime

#endif
