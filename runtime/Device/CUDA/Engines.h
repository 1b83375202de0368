// What a compiler asks libdlc_cuda.so: which of cuDNN's engines a convolution gets on a device that
// need not be there.
#ifndef DLC_RUNTIME_DEVICE_CUDA_ENGINES_H
#define DLC_RUNTIME_DEVICE_CUDA_ENGINES_H

#include "dlc/abi.h"
#include "dlc/status.h"

#include <functional>
#include <string>
#include <vector>

namespace dlc::runtime {

struct ChosenEngine {
  /// Engine, then pairs of knob and value, as dlc_library_call.engine keeps them.
  std::vector<uint64_t> numbers;
  /// What a call that uses it needs.
  uint64_t workspaceBytes = 0;
};

/// Fails with Unsupported if no engine of use can run the call by its math in the workspace that it
/// has. Threads: may be called by any.
using EngineChooser = std::function<Result<ChosenEngine>(const dlc_library_call &call)>;

/// For a device by its properties, the JSON that cuDNN writes of one: "cudnn" of
/// Device::properties. Fails if there is no plugin, no cuDNN here, or the text is none of its
/// properties.
Result<EngineChooser> openEngineChooser(const std::string &properties);

} // namespace dlc::runtime

#endif
