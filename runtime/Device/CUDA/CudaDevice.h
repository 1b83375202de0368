// One CUDA device. Memory traffic and the first stream of every plan go through one stream of the
// device, so what is written before a run is there when it starts. Inputs are copied on a stream of
// their own, beside the run before, and a run's accumulators to host memory behind it. CUDA may
// read pageable host memory after a call has returned, so what a caller gives goes through pinned
// memory or is waited for; batches that lie in pinned memory are taken from there. Memory of the
// program's on the device is copied there, between an event of the program's stream and one for it.
//
// A run's commands are issued to the plan's streams. The first run of an entry is issued as it is,
// which lets libraries and the driver load what they load late; the second is captured in a CUDA
// graph, and later runs replay that graph.
#ifndef DLC_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define DLC_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/Device/CUDA/CudaModule.h"
#include "runtime/Device/CUDA/NcclRanks.h"
#include "runtime/Device/Device.h"

#include <mutex>

namespace dlc::runtime {

class CudaDevice : public Device, public std::enable_shared_from_this<CudaDevice> {
public:
  static Result<std::shared_ptr<Device>> open(const CudaOptions &options);
  ~CudaDevice() override;

  std::string_view name() const override { return hardware.name; }
  dlc_target target() const override { return DLC_TARGET_CUDA; }
  std::string properties() const override;
  DevicePeaks peaks() const override;
  bool sharesHostMemory() const override { return false; }
  Result<std::unique_ptr<DeviceMemory>> allocate(uint64_t bytes) override;
  Result<std::unique_ptr<DeviceMemory>> allocateStaging(uint64_t bytes) override;
  std::shared_ptr<std::byte> allocateHost(uint64_t bytes) override;
  Status settle() override;
  Result<std::unique_ptr<CommandQueue>> createQueue(std::shared_ptr<const Module> module,
                                                    const EntryInfo &entry) override;
  std::optional<int> ordinal() const override { return options.ordinal; }
  Status checkPlace(const void *start, Place place) const override;
  Status follow(void *stream) override;
  Status precede(void *stream) override;
  Result<std::vector<CallReport>> probe(std::shared_ptr<const Module> module) override;

  cudaStream_t stream() const { return mainStream.get(); }
  /// Fills staging memory beside the runs.
  cudaStream_t copyStream() const { return inputStream.get(); }
  /// Whether bytes lie in memory of allocateHost(). With running() held.
  bool takesFrom(std::span<const std::byte> source) const;
  bool usesGraphs() const { return options.graph; }
  /// NCCL among the device's ranks, or null where sums go through the host. The first call is one
  /// that all ranks make together, with running() held.
  Result<NcclRanks *> nccl();
  /// Wait for what a stream or an event has before it, which may be a sum over ranks: so they end
  /// where a rank is lost.
  Status await(cudaStream_t stream, std::string_view what);
  Status await(cudaEvent_t event, std::string_view what);
  /// Makes this the calling thread's device.
  Status activate() const {
    return checkCuda(cudaSetDevice(options.ordinal), "choosing the device");
  }
  /// Held by the queue whose run is in progress, and by who gives the first stream something else:
  /// it would end up in a graph that another thread records.
  std::recursive_mutex &running() { return runMutex; }
  /// Copies to device memory before the next run; the source's bytes are taken. With running()
  /// held.
  Status upload(std::byte *to, std::span<const std::byte> source);

private:
  CudaOptions options;
  int attribute(cudaDeviceAttr name) const;

  cudaDeviceProp hardware = {};
  CudaStream mainStream, inputStream;
  /// Where the program's stream stands, or the device's for it.
  CudaEvent betweenStreams;
  Result<std::unique_ptr<DeviceMemory>> allocateOn(cudaStream_t stream, uint64_t bytes);
  bool isConnected();
  template <typename Awaited>
  Status poll(cudaError_t (*query)(Awaited), Awaited awaited, std::string_view what);
  std::recursive_mutex runMutex;
  /// Pinned bytes that small writes pass through: filled up, then waited for and filled again.
  static constexpr size_t uploadBytes = 64 << 10;
  void *uploads = nullptr;
  size_t uploaded = 0;
  /// Memory of allocateHost(), and its size.
  std::map<const std::byte *, uint64_t> hostBlocks;
  std::map<const Module *, std::weak_ptr<CudaModule>> modules;
  std::unique_ptr<NcclRanks> ncclRanks;
  bool askedForNccl = false;
};

} // namespace dlc::runtime

#endif
