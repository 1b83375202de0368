//===- SourceHash.cpp - see SourceHash.h ------------------------------------------------------===//
//
// A file of its own, as a change of any source compiles it again.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Kernel/SourceHash.h"

const char *dlc::codegen::cpuSourceHash() {
  return
#include "SourceHashCPU.inc"
      ;
}

const char *dlc::codegen::cudaSourceHash() {
  return
#include "SourceHashCUDA.inc"
      ;
}
