//===- AmxReference.h - AMX's instructions in C++ ---------------------------------*- C++ -*-===//
//
// Registers, what loads and stores them, and TDPBF16PS, as Intel's manual says them: for machines
// that have none, and to hold those that have against. Each thread has its own registers.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_CODEGEN_AMXREFERENCE_H
#define DLC_TEST_CODEGEN_AMXREFERENCE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace dlc::test {

/// Names of LLVM's intrinsics, and the functions that do the same.
std::vector<std::pair<llvm::StringRef, void *>> amxReference();

} // namespace dlc::test

#endif
