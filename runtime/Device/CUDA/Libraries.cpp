// Opening libraries and finding their functions.
#include "runtime/Device/CUDA/Libraries.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/CUDA/Toolkit.h"

#include <dlfcn.h>

namespace dlc::runtime {
namespace {

Result<void *> openLibrary(const std::string &name, std::string_view purpose) {
  const OpenedLibrary opened = openCudaLibrary({name}, CudaLibrary::Any);
  if (opened.handle)
    return opened.handle;
  return unsupported("the plan's ", purpose, " need ", name,
                     ", which is neither in a CUDA toolkit nor on the loader's path nor in ",
                     "PyTorch's packages: ", opened.reason);
}

/// Fills in function pointers by name; remembers the first that is missing.
struct Symbols {
  void *library;
  std::string missing;

  template <typename Function> void find(Function *&function, const char *name) {
    function = reinterpret_cast<Function *>(dlsym(library, name));
    if (!function && missing.empty())
      missing = name;
  }
};

Result<CublasLt> loadCublasLt() {
  const std::string name = concat("libcublasLt.so.", CUBLAS_VER_MAJOR);
  DLC_TRY_ASSIGN(library, openLibrary(name, "products"));
  Symbols symbols{library, {}};
  CublasLt api;
  symbols.find(api.version, "cublasLtGetVersion");
  symbols.find(api.create, "cublasLtCreate");
  symbols.find(api.destroy, "cublasLtDestroy");
  symbols.find(api.statusText, "cublasLtGetStatusString");
  symbols.find(api.matmul, "cublasLtMatmul");
  symbols.find(api.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  symbols.find(api.descriptionCreate, "cublasLtMatmulDescCreate");
  symbols.find(api.descriptionDestroy, "cublasLtMatmulDescDestroy");
  symbols.find(api.descriptionSet, "cublasLtMatmulDescSetAttribute");
  symbols.find(api.layoutCreate, "cublasLtMatrixLayoutCreate");
  symbols.find(api.layoutDestroy, "cublasLtMatrixLayoutDestroy");
  symbols.find(api.layoutSet, "cublasLtMatrixLayoutSetAttribute");
  symbols.find(api.preferenceCreate, "cublasLtMatmulPreferenceCreate");
  symbols.find(api.preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  symbols.find(api.preferenceSet, "cublasLtMatmulPreferenceSetAttribute");
  if (!symbols.missing.empty())
    return unsupported(name, ": no function ", symbols.missing);
  return api;
}

Result<Cudnn> loadCudnn() {
  const std::string name = concat("libcudnn.so.", CUDNN_MAJOR);
  DLC_TRY_ASSIGN(library, openLibrary(name, "convolutions"));
  Symbols symbols{library, {}};
  Cudnn api;
  symbols.find(api.version, "cudnnGetVersion");
  symbols.find(api.create, "cudnnCreate");
  symbols.find(api.destroy, "cudnnDestroy");
  symbols.find(api.setStream, "cudnnSetStream");
  symbols.find(api.statusText, "cudnnGetErrorString");
  symbols.find(api.lastError, "cudnnGetLastErrorString");
  symbols.find(api.descriptorCreate, "cudnnBackendCreateDescriptor");
  symbols.find(api.descriptorDestroy, "cudnnBackendDestroyDescriptor");
  symbols.find(api.set, "cudnnBackendSetAttribute");
  symbols.find(api.get, "cudnnBackendGetAttribute");
  symbols.find(api.finalize, "cudnnBackendFinalize");
  symbols.find(api.execute, "cudnnBackendExecute");
  if (!symbols.missing.empty())
    return unsupported(name, ": no function ", symbols.missing);
  return api;
}

Result<Nccl> loadNccl() {
  const std::string name = concat("libnccl.so.", NCCL_MAJOR);
  DLC_TRY_ASSIGN(library, openLibrary(name, "sums over ranks"));
  Symbols symbols{library, {}};
  Nccl api;
  symbols.find(api.errorText, "ncclGetErrorString");
  symbols.find(api.makeId, "ncclGetUniqueId");
  symbols.find(api.connect, "ncclCommInitRankConfig");
  symbols.find(api.finalize, "ncclCommFinalize");
  symbols.find(api.destroy, "ncclCommDestroy");
  symbols.find(api.abort, "ncclCommAbort");
  symbols.find(api.asyncError, "ncclCommGetAsyncError");
  symbols.find(api.allReduce, "ncclAllReduce");
  symbols.find(api.enroll, "ncclCommRegister");
  symbols.find(api.remove, "ncclCommDeregister");
  if (!symbols.missing.empty())
    return unsupported(name, ": no function ", symbols.missing);
  return api;
}

/// A pointer to what was loaded once, or why it could not be.
template <typename Api> Result<const Api *> pointerTo(const Result<Api> &loaded) {
  if (!loaded.ok())
    return Status(loaded.status().code(), std::string(loaded.status().message()));
  return &*loaded;
}

} // namespace

static const CublasLt *replacement = nullptr;

void CublasLt::replace(const CublasLt *standIn) { replacement = standIn; }

Result<const CublasLt *> CublasLt::load() {
  if (replacement)
    return replacement;
  static const Result<CublasLt> loaded = loadCublasLt();
  return pointerTo(loaded);
}

static const Nccl *ncclReplacement = nullptr;

void Nccl::replace(const Nccl *standIn) { ncclReplacement = standIn; }

Result<const Nccl *> Nccl::load() {
  if (ncclReplacement)
    return ncclReplacement;
  static const Result<Nccl> loaded = loadNccl();
  return pointerTo(loaded);
}

Result<const Cudnn *> Cudnn::load() {
  static const Result<Cudnn> loaded = loadCudnn();
  return pointerTo(loaded);
}

} // namespace dlc::runtime
