//===- Nvrtc.h - CUDA C++ to cubins and PTX -----------------------------------------*- C++ -*-===//
//
// NVIDIA's run-time compiler, opened when it is needed: dlc is built and runs without a CUDA
// toolkit, and no GPU or driver is needed to compile.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_NVRTC_H
#define DLC_CODEGEN_CUDA_NVRTC_H

#include "dlc/abi.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace dlc::codegen {

/// What a function of an image needs.
struct FunctionFigures {
  uint32_t registers = 0, spillBytes = 0, sharedBytes = 0;
};

/// Code of one kernel for one architecture.
struct KernelImage {
  dlc_image_kind kind = DLC_IMAGE_CUBIN;
  unsigned architecture = 0; ///< 80 for sm_80
  std::string bytes;
  std::vector<FunctionFigures> figures; ///< of each phase; cubins only

  /// As the cache keeps it.
  std::string serialise() const;
  static std::optional<KernelImage> deserialise(llvm::StringRef text);
};

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
