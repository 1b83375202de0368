//===- InstructionReference.h - Instructions in C++ -------------------------------*- C++ -*-===//
//
// VDPBF16PS, and AMX's registers, what loads and stores them, and TDPBF16PS, as Intel's manual says
// them: for machines that have none, and to hold those that have against. Each thread has its own
// registers.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_CODEGEN_INSTRUCTIONREFERENCE_H
#define DLC_TEST_CODEGEN_INSTRUCTIONREFERENCE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace dlc::test {

/// Names of LLVM's intrinsics, and the functions that do the same. One that returns a vector takes
/// its operands by their memory, and writes over the first.
std::vector<std::pair<llvm::StringRef, void *>> instructionReferences();

} // namespace dlc::test

#endif
