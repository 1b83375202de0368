//===- Sources.h - the texts that travel inside of the compiler ---------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_TEXT_SOURCES_H
#define DLC_CODEGEN_CUDA_TEXT_SOURCES_H

#include "codegen/Kernel/KernelGenerator.h"

namespace dlc::codegen {

/// A CUDA kernel's text with the names of its functions: a file of its own behind its headers and
/// skeletons.
struct CudaSource {
  std::vector<std::string> headers, skeletons;
  std::string text;
  std::vector<std::string> parameters; ///< element types of the buffers: "const float"
  std::vector<std::string> functions;  ///< of each phase that is a launch
  std::vector<uint32_t> threads;       ///< of a block, each function
};
/// Phase i of several is <symbol>_<i>, as on the CPU.
CudaSource nameFunctions(const Candidate &candidate, llvm::StringRef symbol);

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
