// Failures of the CUDA runtime as Status, and owners of its objects.
#ifndef DLC_RUNTIME_DEVICE_CUDA_CUDASUPPORT_H
#define DLC_RUNTIME_DEVICE_CUDA_CUDASUPPORT_H

#include "runtime/Core/Support.h"

#include <cuda_runtime_api.h>
#include <utility>

namespace dlc::runtime {

inline Status checkCuda(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess)
    return {};
  return failure(error == cudaErrorMemoryAllocation ? StatusCode::OutOfMemory : StatusCode::Failed,
                 "device cuda: ", what, ": ", cudaGetErrorString(error));
}

/// Owns a handle of the CUDA runtime.
template <typename Handle, auto destroy> class CudaOwner {
public:
  CudaOwner() = default;
  CudaOwner(CudaOwner &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  CudaOwner &operator=(CudaOwner &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~CudaOwner() {
    if (handle)
      destroy(handle);
  }
  Handle get() const { return handle; }
  Handle *out() { return &handle; }

private:
  Handle handle = nullptr;
};

using CudaStream = CudaOwner<cudaStream_t, cudaStreamDestroy>;
using CudaEvent = CudaOwner<cudaEvent_t, cudaEventDestroy>;
using CudaGraph = CudaOwner<cudaGraph_t, cudaGraphDestroy>;
using CudaGraphExec = CudaOwner<cudaGraphExec_t, cudaGraphExecDestroy>;
using CudaCode = CudaOwner<cudaLibrary_t, cudaLibraryUnload>;

} // namespace dlc::runtime

#endif
