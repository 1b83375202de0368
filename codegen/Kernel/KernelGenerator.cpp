//===- KernelGenerator.cpp - names of phases and of what kernels compute ----------------------===//
#include "codegen/Kernel/KernelGenerator.h"

using namespace dlc;

std::string codegen::phaseSymbol(llvm::StringRef symbol, size_t phases, unsigned phase) {
  return phases == 1 ? symbol.str() : (symbol + "_" + llvm::Twine(phase)).str();
}

llvm::StringRef codegen::pluralName(Anchor anchor) {
  switch (anchor) {
  case Anchor::Map:
    return "element-wise ops";
  case Anchor::Reduce:
    return "reductions";
  case Anchor::RowPasses:
    return "passes over rows";
  case Anchor::Window:
    return "pooling";
  case Anchor::SlidingSum:
    return "sums of neighbours";
  case Anchor::Transpose:
    return "transpositions";
  case Anchor::Attention:
    return "attention";
  case Anchor::Scatter:
    return "scatter_add";
  case Anchor::SumRows:
    return "sums of rows";
  case Anchor::Gemm:
    return "products";
  case Anchor::Convolution:
    return "convolutions";
  case Anchor::Points:
    return "single elements";
  case Anchor::MultiTensor:
  case Anchor::UpdateRows:
    return "updates";
  }
  llvm_unreachable("all anchors are listed");
}
