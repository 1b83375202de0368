// Commands on the CPU are carried out at once and in the order given, which is a valid order of all
// streams, because the loader has checked that every wait stands after its event.
#include "runtime/Device/CPU/CpuDevice.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/CPU/HostMemory.h"

#include <algorithm>
#include <cstring>
#include <sched.h>

namespace dlc::runtime {
namespace {

class CpuMemory : public DeviceMemory {
public:
  explicit CpuMemory(HostMemory memory) : memory(std::move(memory)) {}
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

/// What the threads share while they run one launch.
struct RunningLaunch {
  dlc_kernel_fn function;
  const dlc_args *args;
  std::byte *scratch;
  uint64_t scratchStride;
};

class CpuQueue : public CommandQueue {
public:
  CpuQueue(std::shared_ptr<CpuDevice> device, std::shared_ptr<const Module> module,
           HostMemory scratch, uint64_t scratchStride)
      : device(std::move(device)), module(std::move(module)), scratch(std::move(scratch)),
        scratchStride(scratchStride) {}

  Status begin() override {
    device->running().lock();
    return {};
  }
  Status end() override {
    device->running().unlock();
    return {};
  }
  Status launch(uint32_t, const Launch &launch) override {
    const KernelInfo &kernel = module->plan().kernels[launch.kernel];
    RunningLaunch running{module->kernelFunctions()[kernel.function], &launch.args, scratch.data(),
                          scratchStride};
    device->pool().run(launch.tasks, runTask, &running);
    return {};
  }
  Status copy(uint32_t, std::byte *to, const std::byte *from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status fill(uint32_t, std::byte *to, uint8_t value, uint64_t bytes) override {
    std::memset(to, value, bytes);
    return {};
  }
  Status recordEvent(uint32_t, uint32_t) override { return {}; }
  Status waitEvent(uint32_t, uint32_t) override { return {}; }
  Status synchronize() override { return {}; }

private:
  static void runTask(const void *context, uint32_t task, unsigned thread) {
    const auto &launch = *static_cast<const RunningLaunch *>(context);
    launch.function(launch.args, task, launch.scratch + thread * launch.scratchStride);
  }

  std::shared_ptr<CpuDevice> device;
  std::shared_ptr<const Module> module;
  HostMemory scratch;
  uint64_t scratchStride;
};

Status checkRunsOnCpu(const Plan &plan, uint32_t number, uint64_t &scratch) {
  const dlc_record &record = plan.records[number];
  auto refuse = [&](std::string_view what) {
    return unsupported("record ", number, " '", plan.recordNames[number], "' is ", what,
                       ", which the cpu does not run");
  };
  switch (record.kind) {
  case DLC_RECORD_LIBRARY:
    return refuse("a library call");
  case DLC_RECORD_COLLECTIVE_START:
  case DLC_RECORD_COLLECTIVE_WAIT:
    return refuse("a collective");
  case DLC_RECORD_LAUNCH:
    if (plan.kernels[record.index].target != DLC_TARGET_CPU)
      return refuse("a launch of a kernel for another target");
    scratch = std::max(scratch, plan.kernels[record.index].scratchBytes);
    return {};
  default:
    return {};
  }
}

} // namespace

Result<std::unique_ptr<DeviceMemory>> CpuDevice::allocate(uint64_t bytes) {
  HostMemory memory = HostMemory::allocate(bytes);
  if (!memory)
    return failure(StatusCode::OutOfMemory, "no memory for ", bytes, " bytes");
  return std::unique_ptr<DeviceMemory>(std::make_unique<CpuMemory>(std::move(memory)));
}

Result<std::unique_ptr<CommandQueue>> CpuDevice::createQueue(std::shared_ptr<const Module> module,
                                                             const EntryInfo &entry) {
  uint64_t scratch = 0;
  for (uint32_t i = 0; i < entry.records.count; ++i)
    DLC_TRY(checkRunsOnCpu(module->plan(), entry.records.first + i, scratch));
  // Threads' scratches stand on different pages, so that they share no cache line and no prefetcher
  // crosses over.
  constexpr uint64_t page = 4096;
  uint64_t stride, total;
  if (__builtin_add_overflow(scratch, page - 1, &stride) ||
      __builtin_mul_overflow(stride / page * page, uint64_t(threadPool.threads()), &total))
    return failure(StatusCode::OutOfMemory, "a kernel asks for ", scratch, " bytes of scratch");
  HostMemory memory = HostMemory::allocate(total);
  if (!memory)
    return failure(StatusCode::OutOfMemory, "no memory for ", total, " bytes of scratch");
  return std::unique_ptr<CommandQueue>(std::make_unique<CpuQueue>(
      shared_from_this(), std::move(module), std::move(memory), stride / page * page));
}

static unsigned usableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return 1;
  return std::max(1, CPU_COUNT(&set));
}

Result<std::shared_ptr<Device>> openCpu(const CpuOptions &options) {
  constexpr unsigned limit = 1024;
  if (options.threads > limit)
    return invalid("threads: ", options.threads, " is above ", limit);
  const unsigned threads = options.threads == 0 ? usableProcessors() : options.threads;
  return std::shared_ptr<Device>(std::make_shared<CpuDevice>(threads));
}

} // namespace dlc::runtime
