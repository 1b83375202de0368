//===- SourceHash.cpp - which compiler this is ------------------------------------------------===//
//
// Part of each kernel's key, so that a cache never serves what an older compiler made: nobody has
// to raise a version. Taken when the compiler is built, over the names and contents of all files
// that decide what code a kernel becomes: codegen/Kernel, codegen/Compile, this folder,
// dialects/DL, abi.h. A file of its own, as a change of any source compiles it again.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CUDA/CudaTarget.h"

const char *dlc::codegen::CudaTarget::sourceHash() {
  return
#include "SourceHash.inc"
      ;
}
