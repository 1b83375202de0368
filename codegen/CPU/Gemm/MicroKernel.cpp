//===- MicroKernel.cpp - which micro-kernels there are ----------------------------------------===//
#include "codegen/CPU/Gemm/MicroKernel.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace dlc;
using namespace dlc::codegen;

static std::array<const MicroKernel *, 3> allKernels() {
  return {&fmaKernel(), &bf16Kernel(), &amxKernel()};
}

llvm::SmallVector<const MicroKernel *> codegen::microKernels(Element element,
                                                             const CpuTarget &target) {
  llvm::SmallVector<const MicroKernel *> kernels;
  llvm::copy_if(allKernels(), std::back_inserter(kernels),
                [&](const MicroKernel *kernel) { return kernel->takes(element, target); });
  return kernels;
}

const MicroKernel &MicroKernel::get(llvm::StringRef name) {
  return **llvm::find_if(allKernels(),
                         [&](const MicroKernel *kernel) { return kernel->name() == name; });
}
