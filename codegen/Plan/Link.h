//===- Link.h - objects become a sealed module --------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_LINK_H
#define DLC_CODEGEN_PLAN_LINK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace dlc::codegen {

/// Links relocatable objects into a shared library that exports dlc_module_query only, in this
/// process, and seals it: writes the hash of the file into its note. Equal objects in equal order
/// give equal bytes. Fails if the objects need a function other than those of `allowedImports`.
llvm::Expected<std::string> linkModule(llvm::ArrayRef<llvm::StringRef> objects);

/// Functions of libc that compiled kernels may call.
llvm::ArrayRef<llvm::StringRef> allowedImports();

} // namespace dlc::codegen

#endif
