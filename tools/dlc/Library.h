//===- Library.h - where the standard library of blocks is --------------------------*- C++ -*-===//
#ifndef DLC_TOOLS_DLC_LIBRARY_H
#define DLC_TOOLS_DLC_LIBRARY_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace dlc::tool {

/// The folders of `-I`, then share/dlc of the installation, which holds `std/`: beside the folder
/// of the program.
std::vector<std::string> withLibrary(std::vector<std::string> folders);

/// How one imports a file of the library: "std/resnet.dl", wherever the library is; other paths
/// stay.
std::string withoutLibrary(llvm::StringRef path);

} // namespace dlc::tool

#endif
