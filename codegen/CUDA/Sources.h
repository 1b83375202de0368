//===- Sources.h - the texts that travel inside of the compiler ---------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_SOURCES_H
#define DLC_CODEGEN_CUDA_SOURCES_H

#include "codegen/Kernel/KernelGenerator.h"

namespace dlc::codegen {

/// The text of codegen/CUDA/skeletons/<name>.cuh, codegen/CUDA/simt/simt.h or dlc/abi.h ("simt.h",
/// "abi.h").
llvm::StringRef embeddedText(llvm::StringRef file);

/// The lines that include `headers`.
std::string includesOf(llvm::ArrayRef<std::string> headers);

/// A kernel as it is compiled: its headers and skeletons, then its own text. `lineMarkers`:
/// messages name the skeleton and its line.
std::string completeText(const CudaSource &source, bool lineMarkers);

} // namespace dlc::codegen

#endif
