// What libdlc_cuda.so exports.
#include "runtime/Device/CUDA/Plugin.h"
#include "runtime/Device/CUDA/CudaDevice.h"

using namespace dlc::runtime;

extern "C" __attribute__((visibility("default"))) const CudaPlugin *dlc_cuda_plugin() {
  static const CudaPlugin plugin = {cudaPluginVersion, CudaDevice::open,
                                    ConvolutionPlan::openEngineChooser};
  return &plugin;
}
