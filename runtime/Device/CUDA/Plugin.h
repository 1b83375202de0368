// The border to libdlc_cuda.so, the only thing that links NVIDIA's libraries: a table behind one
// exported symbol. The plugin is built from the same sources as its host, so C++ may cross.
#ifndef DLC_RUNTIME_DEVICE_CUDA_PLUGIN_H
#define DLC_RUNTIME_DEVICE_CUDA_PLUGIN_H

#include "runtime/Device/CUDA/Engines.h"
#include "runtime/Device/Device.h"

namespace dlc::runtime {

/// Changes with every change of Device.h or of what it uses.
inline constexpr uint32_t cudaPluginVersion = 8;

struct CudaPlugin {
  uint32_t version;
  Result<std::shared_ptr<Device>> (*open)(const CudaOptions &options);
  Result<EngineChooser> (*engines)(const std::string &properties);
};

using CudaPluginQuery = const CudaPlugin *(*)();
inline constexpr const char *cudaPluginSymbol = "dlc_cuda_plugin";

} // namespace dlc::runtime

#endif
