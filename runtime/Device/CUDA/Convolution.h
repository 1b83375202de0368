// A convolution of the plan as a cuDNN execution plan, built through the backend API: one operation
// graph of the convolution and the steps of its epilogue.
//
// Strict float32: engines that round inputs to fewer bits (TF32 among them, which is what a
// tensor-core engine does with float32) or whose sums depend on chance are left out.
//
// Threads: build by any, execute by one at a time for a handle.
#ifndef DLC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H
#define DLC_RUNTIME_DEVICE_CUDA_CONVOLUTION_H

#include "runtime/Core/LibraryCall.h"
#include "runtime/Device/CUDA/Engines.h"
#include "runtime/Device/CUDA/Libraries.h"

#include <memory>
#include <optional>
#include <string>

namespace dlc::runtime {

/// A finalised backend descriptor, or none.
class CudnnDescriptor {
public:
  CudnnDescriptor() = default;
  CudnnDescriptor(const Cudnn &cudnn, cudnnBackendDescriptor_t descriptor)
      : cudnn(&cudnn), descriptor(descriptor) {}
  CudnnDescriptor(CudnnDescriptor &&other) noexcept { *this = std::move(other); }
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept {
    std::swap(cudnn, other.cudnn);
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~CudnnDescriptor() {
    if (descriptor)
      cudnn->descriptorDestroy(descriptor);
  }
  cudnnBackendDescriptor_t get() const { return descriptor; }

private:
  const Cudnn *cudnn = nullptr;
  cudnnBackendDescriptor_t descriptor = nullptr;
};

/// What plans are built for: a device through its handle, or, without a device, its properties.
struct CudnnTarget {
  const Cudnn *cudnn;
  cudnnHandle_t handle = nullptr;
  CudnnDescriptor properties = {};

  /// From the JSON that cuDNN itself writes of a device.
  static Result<CudnnTarget> fromJson(const std::string &json);
  /// That JSON, of a device that is there.
  static Result<std::string> jsonOf(int32_t device);
};

class ConvolutionPlan {
public:
  /// `engine` is the stored one with pairs of knob and value, or empty. Fails with Unsupported if
  /// no engine can run the call in the workspace that it has.
  static Result<std::unique_ptr<ConvolutionPlan>>
  build(const CudnnTarget &target, const dlc_library_call &call, std::span<const uint64_t> engine);

  /// Engines for plans that are stored and rebuilt elsewhere.
  static Result<EngineChooser> openEngineChooser(const std::string &properties);

  /// `arguments` are those of the record, in device memory.
  Status execute(cudnnHandle_t handle, void *const *arguments) const;

  /// "engine 7, 3 knobs, 0 bytes of workspace".
  std::string description() const;
  /// build() makes the same plan of its numbers.
  const ChosenEngine &engine() const { return chosen; }

private:
  ConvolutionPlan(const Cudnn &cudnn, const dlc_library_call &call) : cudnn(cudnn), call(call) {}

  const Cudnn &cudnn;
  dlc_library_call call;
  CudnnDescriptor plan;
  ChosenEngine chosen;
};

} // namespace dlc::runtime

#endif
