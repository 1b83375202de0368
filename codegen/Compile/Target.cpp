//===- Target.cpp - see Target.h --------------------------------------------------------------===//
#include "codegen/Compile/Target.h"
#include "llvm/TargetParser/Host.h"

std::string dlc::codegen::Target::triple() const { return llvm::sys::getProcessTriple(); }
