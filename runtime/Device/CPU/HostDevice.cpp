// Host memory as device memory, scratch, threads.
#include "runtime/Device/CPU/HostDevice.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {
namespace {

class HostDeviceMemory : public DeviceMemory {
public:
  explicit HostDeviceMemory(HostMemory memory) : memory(std::move(memory)) {}
  std::byte *address() override { return memory.data(); }
  uint64_t size() const override { return memory.size(); }
  Status write(uint64_t offset, std::span<const std::byte> source) override {
    std::copy(source.begin(), source.end(), memory.data() + offset);
    return {};
  }
  Status read(uint64_t offset, std::span<std::byte> destination) const override {
    std::copy_n(memory.data() + offset, destination.size(), destination.begin());
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
  return concat("{\"device\":\"", device, "\",\"threads\":", threads,
                ",\"processors\":", usableProcessors(), ",\"cpu_features\":\"",
                cpuFeatureNames(hostCpuFeatures()), "\"}");
}

void HostResults::begin(const RunStart &start) {
  from.assign(start.accumulators.begin(), start.accumulators.end());
  slot = start.slot;
  values[slot].resize(from.size());
}

void HostResults::end() {
  for (size_t i = 0; i < from.size(); ++i)
    std::memcpy(&values[slot][i], from[i], sizeof(float));
}

Result<unsigned> checkedThreads(unsigned asked) {
  constexpr unsigned limit = 1024;
  if (asked > limit)
    return invalid("threads: ", asked, " is above ", limit);
  return asked == 0 ? usableProcessors() : asked;
}

} // namespace dlc::runtime
