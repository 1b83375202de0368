//===- Headers.h - NVIDIA's headers of 16-bit floats --------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_COMPILE_HEADERS_H
#define DLC_CODEGEN_CUDA_COMPILE_HEADERS_H

#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace dlc::codegen {

/// cuda_bf16.h and cuda_fp16.h of a CUDA toolkit. Kernels without such elements need none, and
/// without a toolkit only these compile.
struct CudaHeaders {
  std::vector<std::string> folders; ///< to search for them and for what they include
  std::string identity;             ///< changes when their text does

  /// Beside NVRTC, then in the toolkits; $CUDA_HOME alone if that is set.
  /// Fails with a message if there are none.
  static llvm::Expected<CudaHeaders> find();
};

} // namespace dlc::codegen

#endif
