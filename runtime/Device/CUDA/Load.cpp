// Finds libdlc_cuda.so and asks it for the device, or for engines. This file is part of the host
// and knows nothing of CUDA.
#include "runtime/Core/PluginLibrary.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/CUDA/Plugin.h"

#include <dlfcn.h>

namespace dlc::runtime {

static constexpr const char *pluginName = "libdlc_cuda.so";

static Result<const CudaPlugin *> loadPlugin() {
  DLC_TRY_ASSIGN(library, openPlugin(pluginName, "device cuda",
                                     "it is built where CMake finds a CUDA toolkit, such as "
                                     "scripts/install-deps.sh --cuda brings"));
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
