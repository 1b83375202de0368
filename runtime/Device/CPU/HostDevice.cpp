// Host memory as device memory, scratch, threads.
#include "runtime/Device/CPU/HostDevice.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {
namespace {

/// On all processors: training stands still while a checkpoint is taken. A piece each, as memcpy
/// passes the caches by where a piece is large.
void copyAll(std::byte *to, const std::byte *from, uint64_t bytes) {
  constexpr uint64_t least = uint64_t(4) << 20;
  const uint64_t pieces = std::clamp<uint64_t>(bytes / least, 1, processors().threads());
  forEachPiece(pieces, [&](uint64_t piece) {
    const uint64_t begin = bytes / pieces * piece;
    const uint64_t end = piece + 1 == pieces ? bytes : begin + bytes / pieces;
    std::memcpy(to + begin, from + begin, end - begin);
  });
}

class HostDeviceMemory : public DeviceMemory {
public:
  explicit HostDeviceMemory(HostMemory memory) : memory(std::move(memory)) {}
  std::byte *address() override { return memory.data(); }
  uint64_t size() const override { return memory.size(); }
  Status write(uint64_t offset, std::span<const std::byte> source) override {
    copyAll(memory.data() + offset, source.data(), source.size());
    return {};
  }
  Status read(uint64_t offset, std::span<std::byte> destination) const override {
    copyAll(destination.data(), memory.data() + offset, destination.size());
    return {};
  }

private:
  HostMemory memory;
};

} // namespace

Result<std::unique_ptr<DeviceMemory>> allocateOnHost(uint64_t bytes) {
  HostMemory memory = HostMemory::allocate(bytes);
  if (!memory)
    return failure(StatusCode::OutOfMemory, "no memory for ", bytes, " bytes");
  return std::unique_ptr<DeviceMemory>(std::make_unique<HostDeviceMemory>(std::move(memory)));
}

Result<ThreadScratch> allocateScratch(uint64_t bytes, unsigned threads) {
  constexpr uint64_t page = 4096;
  uint64_t padded, total;
  if (__builtin_add_overflow(bytes, page - 1, &padded) ||
      __builtin_mul_overflow(padded / page * page, uint64_t(threads), &total))
    return failure(StatusCode::OutOfMemory, "a kernel asks for ", bytes, " bytes of scratch");
  HostMemory memory = HostMemory::allocate(total);
  if (!memory)
    return failure(StatusCode::OutOfMemory, "no memory for ", total, " bytes of scratch");
  return ThreadScratch{std::move(memory), padded / page * page};
}

std::string hostProperties(std::string_view device, unsigned threads) {
  const Processors &own = processors();
  return concat("{\"device\":\"", device, "\",\"threads\":", threads,
                ",\"processors\":", own.allowed.size(), ",\"cores\":", own.cores.size(),
                own.quota == 0 ? "" : concat(",\"quota\":", own.quota), ",\"cpu_features\":\"",
                cpuFeatureNames(hostCpuFeatures()), "\"}");
}

void HostResults::begin(const RunStart &start) {
  places.assign(start.accumulators.begin(), start.accumulators.end());
  slot = start.slot;
  size_t bytes = 0;
  for (const AccumulatorPlace &place : places)
    bytes += place.bytes;
  values[slot].resize(bytes);
}

void HostResults::end() {
  std::byte *to = values[slot].data();
  for (const AccumulatorPlace &place : places)
    to = std::copy_n(place.from, place.bytes, to);
}

Status StartedSums::start(uint32_t stream, const DeviceCollective &collective) {
  if (ranks.ranks() == 1)
    return {};
  std::deque<Started> &started = streams[stream].started;
  RecordSum &all = sums.try_emplace(collective.record, collective.kind).first->second;
  Started &sum = started.emplace_back(Started{0, collective.record, &all, {}});
  Result<Transport::Ticket> ticket = all.start(
      ranks, collective.channel, collective.dtype, std::span(collective.buffer, collective.bytes),
      collective.residual, timeline ? &sum.times : nullptr);
  if (!ticket.ok()) {
    started.pop_back();
    return ticket.takeStatus();
  }
  sum.ticket = *ticket;
  return {};
}

void StartedSums::record(uint32_t stream, uint32_t event) {
  if (auto found = streams.find(stream); found != streams.end())
    events[event] = {stream, found->second.before + found->second.started.size()};
}

Status StartedSums::waitUntil(Stream &stream, size_t count) {
  while (stream.before < count) {
    const Started &sum = stream.started.front();
    DLC_TRY(ranks.wait(sum.ticket));
    sum.sum->finish();
    if (timeline)
      timeline->add(SpanKind::Collective, sum.record, sum.times.begin, sum.times.end);
    stream.started.pop_front();
    ++stream.before;
  }
  return {};
}

Status StartedSums::waitFor(uint32_t event) {
  auto found = events.find(event);
  return found == events.end() ? Status()
                               : waitUntil(streams[found->second.first], found->second.second);
}

Status StartedSums::finish(uint32_t number) {
  auto found = streams.find(number);
  return found == streams.end()
             ? Status()
             : waitUntil(found->second, found->second.before + found->second.started.size());
}

Status StartedSums::finish() {
  Status all;
  for (auto &[number, stream] : streams) {
    Status status = finish(number);
    // What failed is over as well.
    stream.before += stream.started.size();
    stream.started.clear();
    if (!status.ok() && all.ok())
      all = std::move(status);
  }
  return all;
}

Result<unsigned> checkedThreads(unsigned asked) {
  constexpr unsigned limit = 4096;
  if (asked > limit)
    return invalid("threads: ", asked, " is above ", limit);
  return asked == 0 ? processors().threads() : asked;
}

} // namespace dlc::runtime
