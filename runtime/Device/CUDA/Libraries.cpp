// Finding and opening libraries.
#include "runtime/Device/CUDA/Libraries.h"
#include "runtime/Core/Support.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace dlc::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> foldersIn(const fs::path &folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error))
      folders.push_back(entry.path());
  return folders;
}

/// Every site-packages folder of the Python installations in a prefix.
void addPackages(const fs::path &prefix, std::vector<fs::path> &packages) {
  for (const fs::path &python : foldersIn(prefix / "lib"))
    if (python.filename().string().starts_with("python"))
      for (const char *name : {"site-packages", "dist-packages"})
        packages.push_back(python / name);
}

/// The active virtual environment, the prefix of each `python3` on PATH, and the usual places.
std::vector<fs::path> sitePackages() {
  std::vector<fs::path> packages;
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    addPackages(environment, packages);
  const char *path = std::getenv("PATH");
  std::string_view left = path ? path : "";
  while (!left.empty()) {
    const fs::path folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.native().size() + 1));
    std::error_code error;
    if (fs::exists(folder / "python3", error))
      addPackages(folder.parent_path(), packages);
  }
  for (const char *prefix : {"/usr/local", "/usr", "/opt/torch/.venv", "/opt/conda"})
    addPackages(prefix, packages);
  return packages;
}

/// Opens `name` from the loader's path, from the CUDA toolkit, or from PyTorch's packages.
Result<void *> openLibrary(const std::string &name, std::string_view purpose) {
  if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return library;
  std::string reason = dlerror();
  std::vector<fs::path> folders = {"/usr/local/cuda/lib64"};
  for (const fs::path &packages : sitePackages())
    for (const fs::path &package : foldersIn(packages / "nvidia"))
      folders.push_back(package / "lib");
  for (const fs::path &folder : folders) {
    std::error_code error;
    if (!fs::exists(folder / name, error))
      continue;
    if (void *library = dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    reason = dlerror();
  }
  return unsupported("the plan's ", purpose, " need ", name,
                     ", which is neither on the loader's path nor in PyTorch's packages: ", reason);
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

/// A pointer to what was loaded once, or why it could not be.
template <typename Api> Result<const Api *> pointerTo(const Result<Api> &loaded) {
  if (!loaded.ok())
    return Status(loaded.status().code(), std::string(loaded.status().message()));
  return &*loaded;
}

} // namespace

Result<const CublasLt *> CublasLt::load() {
  static const Result<CublasLt> loaded = loadCublasLt();
  return pointerTo(loaded);
}

Result<const Cudnn *> Cudnn::load() {
  static const Result<Cudnn> loaded = loadCudnn();
  return pointerTo(loaded);
}

} // namespace dlc::runtime
