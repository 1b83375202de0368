//===- Simt.h - CUDA C++ as native code for the SIMT device -------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_CUDA_COMPILE_SIMT_H
#define DLC_CODEGEN_CUDA_COMPILE_SIMT_H

#include "codegen/CUDA/Text/Sources.h"

namespace dlc::codegen {

/// A C++ compiler of this machine: clang++-22, clang++, g++ or c++.
struct HostCompiler {
  std::string path;
  std::string identity; ///< path, size and time: changes when the compiler does

  /// Fails with a message if there is none.
  static llvm::Expected<HostCompiler> find();
  /// Compiles to a relocatable object, with headers of `includeFolders`. Fails with the first
  /// error.
  llvm::Expected<std::string> compile(llvm::StringRef text,
                                      llvm::ArrayRef<std::string> includeFolders) const;
};

/// One C++ text with several kernels, against codegen/CUDA/simt/simt.h. Each phase becomes a
/// function of type dlc_kernel_fn, named by simtSymbol.
std::string simtText(llvm::ArrayRef<CudaSource> kernels);
std::string simtSymbol(llvm::StringRef function);

} // namespace dlc::codegen

#endif
