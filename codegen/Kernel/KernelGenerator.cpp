//===- KernelGenerator.cpp - names of phases --------------------------------------------------===//
#include "codegen/Kernel/KernelGenerator.h"

std::string dlc::codegen::phaseSymbol(llvm::StringRef symbol, size_t phases, unsigned phase) {
  return phases == 1 ? symbol.str() : (symbol + "_" + llvm::Twine(phase)).str();
}
