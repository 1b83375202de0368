// Where NVIDIA's libraries and headers are looked for when dlc runs; nothing else decides that.
// cmake/CUDA.cmake decides it for the build, toolkits in the same order. The compiler asks for
// NVRTC and the headers of 16-bit floats, libdlc_cuda.so for cuBLASLt and cuDNN; this file is part
// of both, and knows neither CUDA nor LLVM.
#ifndef DLC_RUNTIME_DEVICE_CUDA_TOOLKIT_H
#define DLC_RUNTIME_DEVICE_CUDA_TOOLKIT_H

#include "runtime/Core/PluginLibrary.h"

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace dlc::runtime {

/// Folders with include and lib64 inside, best first: $CUDA_HOME alone if that is set; else what
/// scripts/install-deps.sh --cuda made beside the build that the program is in, and the usual
/// place.
std::vector<std::filesystem::path> cudaToolkits();

/// A toolkit's own libraries come from $CUDA_HOME alone if that is set. Others, which a toolkit may
/// lack, are looked for everywhere if they are not there.
enum class CudaLibrary { OfToolkit, Any };

struct OpenedLibrary {
  void *handle = nullptr;
  std::string reason; ///< if there is no handle: the loader's for the last that was tried
};

/// Opens the first of `names` in the first place that has one: the toolkits, the loader's path, the
/// packages that PyTorch brings from PyPI (nvidia/*/lib in a site-packages folder). What NVRTC
/// opens by name alone is opened with it, since that may be outside of the loader's path.
OpenedLibrary openCudaLibrary(std::initializer_list<std::string> names, CudaLibrary kind);

} // namespace dlc::runtime

#endif
