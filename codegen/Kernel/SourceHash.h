//===- SourceHash.h - which compiler this is ----------------------------------------*- C++ -*-===//
//
// Part of each kernel's key, so that a cache never serves what an older compiler made: nobody has
// to raise a version. Taken when the compiler is built, over the names and contents of all files
// that decide what code a kernel becomes: codegen/Kernel, the target's folder, dialects/DL, abi.h.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_SOURCEHASH_H
#define DLC_CODEGEN_KERNEL_SOURCEHASH_H

namespace dlc::codegen {

/// 64 hexadecimal digits.
const char *cpuSourceHash();
const char *cudaSourceHash();

} // namespace dlc::codegen

#endif
