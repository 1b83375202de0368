//===- CudaText.h - a kernel as CUDA C++ --------------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_TEXT_CUDATEXT_H
#define DLC_CODEGEN_CUDA_TEXT_CUDATEXT_H

#include <cstdint>
#include <string>
#include <vector>

namespace dlc::codegen {

/// The text of a CUDA kernel, whose functions have no names yet. In front of it stand the headers
/// and skeletons that it names, in this order.
struct CudaText {
  /// A phase that is a launch: extern "C" __global__.
  struct Function {
    unsigned phase;
    uint32_t threads;       ///< of a block
    std::string head, tail; ///< what stands before the name and behind it
  };
  std::vector<std::string> headers; ///< NVIDIA's, for the types of bf16 and f16: "cuda_bf16.h"
  std::vector<std::string> skeletons;
  std::string problem;
  std::vector<std::string> parameters; ///< element types of the buffers: "const float"
  std::vector<Function> functions;
};

} // namespace dlc::codegen

#endif
