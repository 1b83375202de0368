// The CPU: kernels are native functions of the module, memory is the host's, every command is done
// when it returns.
#ifndef DLC_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define DLC_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/Device/CPU/HostDevice.h"
#include "runtime/Device/CPU/ThreadPool.h"
#include "runtime/Device/Device.h"

#include <mutex>

namespace dlc::runtime {

class CpuDevice : public Device, public std::enable_shared_from_this<CpuDevice> {
public:
  explicit CpuDevice(unsigned threads) : threadPool(threads) {}

  std::string_view name() const override { return "cpu"; }
  dlc_target target() const override { return DLC_TARGET_CPU; }
  std::string properties() const override { return hostProperties("cpu", threadPool.threads()); }
  bool sharesHostMemory() const override { return true; }
  Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) override;
  Result<std::unique_ptr<CommandQueue>> createQueue(std::shared_ptr<const Module> module,
                                                    const EntryInfo &entry) override;

  ThreadPool &pool() { return threadPool; }
  /// Held by the queue whose run is in progress.
  std::mutex &running() { return runMutex; }

private:
  ThreadPool threadPool;
  std::mutex runMutex;
};

} // namespace dlc::runtime

#endif
