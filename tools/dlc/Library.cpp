//===- Library.cpp - where the standard library of blocks is ----------------------------------===//
#include "tools/dlc/Library.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace dlc::tool {

std::vector<std::string> withLibrary(std::vector<std::string> folders) {
  std::string program =
      llvm::sys::fs::getMainExecutable("dlc", reinterpret_cast<void *>(&withLibrary));
  llvm::SmallString<256> share(llvm::sys::path::parent_path(llvm::sys::path::parent_path(program)));
  llvm::sys::path::append(share, "share", "dlc");
  folders.push_back(share.str().str());
  return folders;
}

} // namespace dlc::tool
