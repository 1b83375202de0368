// A module's code on one device: its kernels, loaded from the cubin for the device's architecture
// or, without one, compiled by the driver from PTX; its library calls, prepared.
//
// Ownership: keeps the module. Threads: made by one thread; kernels are read by any, calls are run
// by one at a time.
#ifndef DLC_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
#define DLC_RUNTIME_DEVICE_CUDA_CUDAMODULE_H

#include "dlc/device.h"
#include "dlc/module.h"
#include "runtime/Device/CUDA/Convolution.h"
#include "runtime/Device/CUDA/CudaSupport.h"
#include "runtime/Device/CUDA/Product.h"
#include "runtime/Device/Device.h"

#include <map>
#include <set>

namespace dlc::runtime {

/// A kernel ready to launch. Kernels with the same image share its library.
struct CudaKernel {
  CudaCode code;
  cudaKernel_t function = nullptr;
};

class CudaModule {
public:
  CudaModule(std::shared_ptr<const Module> module, const cudaDeviceProp &device,
             const CudaOptions &options)
      : module(std::move(module)), device(device), options(options) {}
  ~CudaModule();

  /// Loads what one entry needs; what is there already stays. Calls that a library refuses are a
  /// warning where the plan has launches that take their part; else all of them are the error.
  Status prepare(const EntryInfo &entry);

  /// Asks the libraries about all calls of the plan.
  std::vector<CallReport> probe();

  const CudaKernel &kernel(uint32_t index) const { return kernels.at(index); }
  /// One at a time.
  Status run(uint32_t call, cudaStream_t stream, void *const *arguments);
  /// Of an entry that is prepared.
  bool accepts(uint32_t call) const { return !refused.contains(call); }

private:
  /// The image to load: a cubin of the same major and no higher minor architecture, the highest
  /// first; else the highest PTX that is not above the device. Null if there is none.
  const dlc_image *choose(const KernelInfo &kernel) const;
  Status loadKernel(uint32_t index);
  Status prepareCall(uint32_t index);
  Status prepareCalls(const EntryInfo &entry);

  std::shared_ptr<const Module> module;
  cudaDeviceProp device;
  CudaOptions options;
  std::set<uint32_t> refused;
  std::map<uint32_t, CudaKernel> kernels;
  std::map<uint32_t, std::unique_ptr<ProductPlan>> products;
  std::map<uint32_t, std::unique_ptr<ConvolutionPlan>> convolutions;
  const CublasLt *blas = nullptr;
  cublasLtHandle_t blasHandle = nullptr;
  const Cudnn *cudnn = nullptr;
  cudnnHandle_t cudnnHandle = nullptr;
  /// Where the handle's calls go; the default stream at first.
  cudaStream_t cudnnStream = nullptr;
};

/// Whether an image runs on an architecture, 90 for sm_90. Part of CudaModule, for tests.
bool imageServes(const dlc_image &image, int architecture);

/// Library calls that were refused, by the reason: part of CudaModule, for tests.
class Refusals {
public:
  void add(std::string_view reason, std::string_view record);
  bool empty() const { return records.empty(); }
  /// "no cuDNN: 'conv1', 'conv2'; ...": all of them.
  std::string text() const;
  /// For each reason the names of the first few, and how many more.
  std::vector<std::string> warnings() const;

private:
  std::map<std::string, std::vector<std::string>, std::less<>> records;
};

} // namespace dlc::runtime

#endif
