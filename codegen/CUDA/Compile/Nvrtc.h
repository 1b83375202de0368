//===- Nvrtc.h - CUDA C++ to cubins and PTX -----------------------------------------*- C++ -*-===//
//
// NVIDIA's run-time compiler, opened when it is needed: dlc is built and runs without a CUDA
// toolkit, and no GPU or driver is needed to compile.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_COMPILE_NVRTC_H
#define DLC_CODEGEN_CUDA_COMPILE_NVRTC_H

#include "codegen/Compile/CompiledKernel.h"

namespace dlc::codegen {

class Nvrtc {
public:
  /// Fails with a message if there is none. The result lives as long as the process.
  static llvm::Expected<const Nvrtc *> load();

  /// "13.0"
  const std::string &version() const { return versionText; }
  /// The folder that the library is in.
  const std::string &folder() const { return folderPath; }
  /// The cubin of `text` for `architecture`, and the PTX that it was made from. `functions`: the
  /// names of the kernel's phases; `includeFolders`: where its headers are. May be called from
  /// several threads.
  llvm::Expected<std::pair<KernelImage, KernelImage>>
  compile(llvm::StringRef text, unsigned architecture, llvm::ArrayRef<std::string> functions,
          llvm::ArrayRef<std::string> includeFolders) const;

private:
  struct Functions;
  const Functions *call = nullptr;
  std::string versionText, folderPath;
};

} // namespace dlc::codegen

#endif
