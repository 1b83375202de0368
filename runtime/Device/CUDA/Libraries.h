// NVIDIA's libraries, opened when a plan first calls them: a plan without library calls needs the
// driver alone. Toolkit.h says where they are looked for.
//
// Ownership: a library stays open as long as the process. Threads: load() may be called by any.
#ifndef DLC_RUNTIME_DEVICE_CUDA_LIBRARIES_H
#define DLC_RUNTIME_DEVICE_CUDA_LIBRARIES_H

#include "dlc/abi.h"
#include "dlc/status.h"
#include "runtime/Core/Support.h"

#include <cublasLt.h>
#include <cudnn.h>
#include <nccl.h>

namespace dlc::runtime {

/// A call's workspace as NVIDIA's libraries want it: cuBLASLt takes none that does not begin at a
/// multiple of 256 bytes, but a plan's buffers begin at multiples of DLC_ALIGNMENT.
struct LibraryWorkspace {
  static constexpr uint64_t alignment = 256;

  /// What is left of it wherever it begins.
  static uint64_t usableBytes(const dlc_library_call &call) {
    constexpr uint64_t most = alignment - DLC_ALIGNMENT;
    return call.workspace_bytes > most ? call.workspace_bytes - most : 0;
  }
  /// What a call must have for so many usable bytes.
  static uint64_t neededBytes(uint64_t usable) {
    return usable ? usable + alignment - DLC_ALIGNMENT : 0;
  }
  static void *alignedStart(void *start) {
    return reinterpret_cast<void *>(alignUp(reinterpret_cast<uintptr_t>(start), alignment));
  }
};

/// The calls of cuBLASLt that products need.
struct CublasLt {
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetStatusString) statusText;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulDescCreate) descriptionCreate;
  decltype(&cublasLtMatmulDescDestroy) descriptionDestroy;
  decltype(&cublasLtMatmulDescSetAttribute) descriptionSet;
  decltype(&cublasLtMatrixLayoutCreate) layoutCreate;
  decltype(&cublasLtMatrixLayoutDestroy) layoutDestroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layoutSet;
  decltype(&cublasLtMatmulPreferenceCreate) preferenceCreate;
  decltype(&cublasLtMatmulPreferenceDestroy) preferenceDestroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preferenceSet;

  static Result<const CublasLt *> load();
  /// What load() gives from now on, or null for the library again: for tests.
  static void replace(const CublasLt *standIn);
};

/// The backend calls of cuDNN that convolutions need.
struct Cudnn {
  decltype(&cudnnGetVersion) version;
  decltype(&cudnnCreate) create;
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnSetStream) setStream;
  decltype(&cudnnGetErrorString) statusText;
  decltype(&cudnnGetLastErrorString) lastError;
  decltype(&cudnnBackendCreateDescriptor) descriptorCreate;
  decltype(&cudnnBackendDestroyDescriptor) descriptorDestroy;
  decltype(&cudnnBackendSetAttribute) set;
  decltype(&cudnnBackendGetAttribute) get;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;

  static Result<const Cudnn *> load();
};

/// The calls of NCCL that sums over ranks need.
struct Nccl {
  decltype(&ncclGetErrorString) errorText;
  decltype(&ncclGetUniqueId) makeId;
  decltype(&ncclCommInitRankConfig) connect;
  decltype(&ncclCommFinalize) finalize;
  decltype(&ncclCommDestroy) destroy;
  decltype(&ncclCommAbort) abort;
  decltype(&ncclCommGetAsyncError) asyncError;
  decltype(&ncclAllReduce) allReduce;
  decltype(&ncclCommRegister) enroll;
  decltype(&ncclCommDeregister) remove;

  static Result<const Nccl *> load();
  /// As CublasLt::replace().
  static void replace(const Nccl *standIn);
};

} // namespace dlc::runtime

#endif
