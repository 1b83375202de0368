//===- Engines.h - cuDNN's engines for a GPU that is not here -----------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_ENGINES_H
#define DLC_TOOLS_DLC_ENGINES_H

#include "codegen/Compile/Target.h"

namespace dlc::tool {

using EngineChooser = decltype(codegen::TargetSettings::chooseEngine);

/// Engines for the GPU whose properties are in a file: what `dlc-run device` prints of one, or its
/// "cudnn" alone. Fails with one message if the file has none, or this machine no libdlc_cuda.so or
/// no cuDNN.
llvm::Expected<EngineChooser> openEngines(llvm::StringRef file);

} // namespace dlc::tool

#endif
