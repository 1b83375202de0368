// Finding and opening NVIDIA's libraries.
#include "runtime/Device/CUDA/Toolkit.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

namespace dlc::runtime {

namespace fs = std::filesystem;

/// $CUDA_HOME; empty if it is not set.
static fs::path cudaHome() {
  const char *home = std::getenv("CUDA_HOME");
  return home ? home : "";
}

std::vector<fs::path> cudaToolkits() {
  if (const fs::path home = cudaHome(); !home.empty())
    return {home};
  // build/release/bin, build/cuda
  return {(ownFolder() / "../../cuda").lexically_normal(), "/usr/local/cuda"};
}

static std::vector<fs::path> foldersIn(const fs::path &folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (entry.is_directory(error))
      folders.push_back(entry.path());
  return folders;
}

/// Every site-packages folder of the Python installations in a prefix.
static void addPackages(const fs::path &prefix, std::vector<fs::path> &packages) {
  for (const fs::path &python : foldersIn(prefix / "lib"))
    if (python.filename().string().starts_with("python"))
      for (const char *name : {"site-packages", "dist-packages"})
        packages.push_back(python / name);
}

/// The active virtual environment, the prefix of each `python3` on PATH, and the usual places.
static std::vector<fs::path> sitePackages() {
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
  for (const char *prefix : {"/usr/local", "/usr", "/opt/conda"})
    addPackages(prefix, packages);
  return packages;
}

/// Where libraries are looked for, best first; an empty folder stands for the loader's path.
static std::vector<fs::path> libraryFolders(CudaLibrary kind) {
  std::vector<fs::path> folders;
  for (const fs::path &toolkit : cudaToolkits())
    folders.push_back(toolkit / "lib64");
  if (kind == CudaLibrary::OfToolkit && !cudaHome().empty())
    return folders;
  // The loader's path may have been set for this run, so it goes before the usual place.
  folders.insert(folders.begin() + 1, fs::path());
  for (const fs::path &packages : sitePackages())
    for (const fs::path &package : foldersIn(packages / "nvidia"))
      folders.push_back(package / "lib");
  return folders;
}

/// NVRTC opens its built-in functions by their bare name. The loader finds them outside of its path
/// if they are open already.
static void openBuiltins(const fs::path &folder) {
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// cuDNN compiles some of its engines with NVRTC, which PyTorch's packages keep in another folder.
static void openBuiltinsFor(const fs::path &folder) {
  openBuiltins(folder);
  if (const fs::path packages = folder.parent_path().parent_path(); packages.filename() == "nvidia")
    for (const fs::path &package : foldersIn(packages))
      openBuiltins(package / "lib");
}

OpenedLibrary openCudaLibrary(std::initializer_list<std::string> names, CudaLibrary kind) {
  OpenedLibrary opened;
  for (const fs::path &folder : libraryFolders(kind))
    for (const std::string &name : names) {
      std::error_code error;
      if (!folder.empty() && !fs::exists(folder / name, error))
        continue;
      opened.handle = dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (opened.handle) {
        if (!folder.empty())
          openBuiltinsFor(folder);
        return opened;
      }
      opened.reason = dlerror();
    }
  return opened;
}

} // namespace dlc::runtime
