//===- Engines.h - cuDNN's engines for a GPU that is not here -----------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_ENGINES_H
#define DLC_TOOLS_DLC_ENGINES_H

#include "codegen/Kernel/KernelGenerator.h"

namespace dlc::tool {

/// Lets `target` choose engines for the GPU whose properties are in a file: what `dlc-run device`
/// prints of one, or its "cudnn" alone. Fails with one message if the file has none, or this
/// machine no libdlc_cuda.so or no cuDNN.
llvm::Error chooseEngines(codegen::CudaTarget &target, llvm::StringRef file);

} // namespace dlc::tool

#endif
