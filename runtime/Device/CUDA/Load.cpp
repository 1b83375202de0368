// Finds libdlc_cuda.so and asks it for the device, or for engines. This file is part of the host
// and knows nothing of CUDA.
#include "runtime/Core/Support.h"
#include "runtime/Device/CUDA/Plugin.h"
#include "runtime/Device/CUDA/Toolkit.h"

#include <dlfcn.h>

namespace dlc::runtime {

static constexpr const char *pluginName = "libdlc_cuda.so";

/// Opens the first plugin there is: beside the program, in ../lib from there, on the loader's path.
static Result<void *> openPlugin() {
  const std::filesystem::path folder = programFolder();
  for (const std::filesystem::path &path :
       {folder / pluginName, folder / "../lib" / pluginName, std::filesystem::path(pluginName)}) {
    std::error_code ignored;
    if (path.has_parent_path() && !std::filesystem::exists(path, ignored))
      continue;
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    if (path.has_parent_path()) {
      const char *reason = dlerror();
      return unsupported("device cuda: ", path.lexically_normal().string(),
                         " cannot be opened: ", reason ? reason : "unknown reason");
    }
  }
  return unsupported("device cuda: no ", pluginName, " beside the program, in ../lib or on the ",
                     "loader's path; it is built where CMake finds a CUDA toolkit, such as "
                     "scripts/install-deps.sh --cuda brings");
}

static Result<const CudaPlugin *> loadPlugin() {
  // Never closed: devices, and threads of NVIDIA's libraries, live in it.
  DLC_TRY_ASSIGN(library, openPlugin());
  auto query = reinterpret_cast<CudaPluginQuery>(dlsym(library, cudaPluginSymbol));
  const CudaPlugin *plugin = query ? query() : nullptr;
  if (!plugin || plugin->version != cudaPluginVersion)
    return unsupported("device cuda: ", pluginName, " belongs to another version of dlc");
  return plugin;
}

Result<std::shared_ptr<Device>> openCuda(const CudaOptions &options) {
  return guarded([&]() -> Result<std::shared_ptr<Device>> {
    DLC_TRY_ASSIGN(plugin, loadPlugin());
    return plugin->open(options);
  });
}

Result<EngineChooser> openEngineChooser(const std::string &properties) {
  return guarded([&]() -> Result<EngineChooser> {
    DLC_TRY_ASSIGN(plugin, loadPlugin());
    return plugin->engines(properties);
  });
}

} // namespace dlc::runtime
