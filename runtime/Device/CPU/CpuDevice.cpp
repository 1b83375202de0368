// Commands on the CPU are carried out at once and in the order given, which is a valid order of all
// streams, because the loader has checked that every wait stands after its event. Collectives alone
// run beside them, on the thread of their transport, until their stream or their event is waited
// for.
#include "runtime/Device/CPU/CpuDevice.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/CPU/HostDevice.h"

#include <algorithm>
#include <cstring>

namespace dlc::runtime {
namespace {

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
           ThreadScratch scratch)
      : device(std::move(device)), module(std::move(module)), scratch(std::move(scratch)),
        sums(this->device->ranks()) {}

  Result<bool> begin(const RunStart &start) override {
    accumulators.begin(start);
    sums.setTimeline(start.timeline);
    device->running().lock();
    return true;
  }
  Status end() override {
    Status status = guarded([&] { return sums.finish(); });
    accumulators.end();
    device->running().unlock();
    return status;
  }
  bool settles() const override { return true; }
  Result<std::span<const std::byte>> results(unsigned slot) override {
    return accumulators.of(slot);
  }
  Status launch(uint32_t stream, const Launch &launch) override {
    DLC_TRY(sums.finish(stream));
    const KernelInfo &kernel = module->plan().kernels[launch.index];
    RunningLaunch running{module->kernelFunctions()[kernel.function], &launch.args,
                          scratch.memory.data(), scratch.stride};
    device->pool().run(launch.tasks, runTask, &running);
    return {};
  }
  Status library(uint32_t, const Launch &) override {
    return unsupported("a library call"); // Refused when the queue was made.
  }
  Status copy(uint32_t stream, std::byte *to, const std::byte *from, uint64_t bytes) override {
    DLC_TRY(sums.finish(stream));
    std::memcpy(to, from, bytes);
    return {};
  }
  Status fill(uint32_t stream, std::byte *to, uint8_t value, uint64_t bytes) override {
    DLC_TRY(sums.finish(stream));
    std::memset(to, value, bytes);
    return {};
  }
  Status sum(uint32_t stream, const DeviceCollective &collective) override {
    return sums.start(stream, collective);
  }
  Status recordEvent(uint32_t stream, uint32_t event) override {
    sums.record(stream, event);
    return {};
  }
  Status waitEvent(uint32_t, uint32_t event) override { return sums.waitFor(event); }
  Result<std::optional<double>> synchronize() override {
    DLC_TRY(sums.finish());
    return std::optional<double>();
  }

private:
  static void runTask(const void *context, uint32_t task, unsigned thread) {
    const auto &launch = *static_cast<const RunningLaunch *>(context);
    launch.function(launch.args, task, launch.scratch + thread * launch.scratchStride);
  }

  std::shared_ptr<CpuDevice> device;
  std::shared_ptr<const Module> module;
  ThreadScratch scratch;
  HostResults accumulators;
  StartedSums sums;
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
  return allocateOnHost(bytes);
}

Result<std::unique_ptr<CommandQueue>> CpuDevice::createQueue(std::shared_ptr<const Module> module,
                                                             const EntryInfo &entry) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < entry.records.count; ++i)
    DLC_TRY(checkRunsOnCpu(module->plan(), entry.records.first + i, bytes));
  DLC_TRY_ASSIGN(scratch, allocateScratch(bytes, threadPool.threads()));
  return std::unique_ptr<CommandQueue>(
      std::make_unique<CpuQueue>(shared_from_this(), std::move(module), std::move(scratch)));
}

Result<std::shared_ptr<Device>> openCpu(const CpuOptions &options) {
  return guarded([&]() -> Result<std::shared_ptr<Device>> {
    DLC_TRY_ASSIGN(threads, checkedThreads(options.threads));
    return std::shared_ptr<Device>(std::make_shared<CpuDevice>(threads));
  });
}

} // namespace dlc::runtime
