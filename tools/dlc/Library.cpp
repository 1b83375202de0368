//===- Library.cpp - where the standard library of blocks is ----------------------------------===//
#include "tools/dlc/Library.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace dlc::tool {

/// share/dlc beside the folder of the program.
static std::string libraryFolder() {
  std::string program =
      llvm::sys::fs::getMainExecutable("dlc", reinterpret_cast<void *>(&libraryFolder));
  llvm::SmallString<256> share(llvm::sys::path::parent_path(llvm::sys::path::parent_path(program)));
  llvm::sys::path::append(share, "share", "dlc");
  return share.str().str();
}

std::vector<std::string> withLibrary(std::vector<std::string> folders) {
  folders.push_back(libraryFolder());
  return folders;
}

std::string withoutLibrary(llvm::StringRef path) {
  llvm::StringRef inside = path;
  return inside.consume_front(libraryFolder() + "/") ? inside.str() : path.str();
}

} // namespace dlc::tool
