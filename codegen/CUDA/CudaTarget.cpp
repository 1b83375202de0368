//===- CudaTarget.cpp - the GPUs that a user names --------------------------------------------===//
#include "codegen/Kernel/KernelGenerator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace dlc::codegen;

/// The oldest that NVRTC 13 knows and cuda-map's quads are good for, and those since.
static constexpr unsigned known[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

llvm::Expected<CudaTarget> CudaTarget::get(llvm::StringRef names) {
  CudaTarget target;
  for (llvm::StringRef name : llvm::split(names, ',')) {
    unsigned number;
    if (name == "simt") {
      target.simt = true;
      continue;
    }
    if (!name.starts_with("sm_") || name.drop_front(3).getAsInteger(10, number) ||
        !llvm::is_contained(known, number))
      return llvm::createStringError(
          "unknown architecture '" + name.str() + "': expected simt or one of " +
          llvm::join(llvm::map_range(known, [](unsigned n) { return "sm_" + std::to_string(n); }),
                     ", "));
    if (!llvm::is_contained(target.architectures, number))
      target.architectures.push_back(number);
  }
  llvm::sort(target.architectures);
  return target;
}
