//===- Targets.cpp - see Targets.h ------------------------------------------------------------===//
#include "codegen/Targets.h"
#include "codegen/CPU/CpuTarget.h"
#include "codegen/CUDA/CudaTarget.h"

using namespace dlc::codegen;

namespace {
/// Targets whose names begin alike.
struct Kind {
  llvm::StringRef name;
  llvm::StringRef detail; ///< what stands behind the colon where the user writes nothing
  llvm::Expected<std::shared_ptr<Target>> (*get)(llvm::StringRef detail);
};
} // namespace

template <typename T> static llvm::Expected<std::shared_ptr<Target>> get(llvm::StringRef detail) {
  llvm::Expected<T> target = T::get(detail);
  if (!target)
    return target.takeError();
  return std::make_shared<T>(std::move(*target));
}

/// Of CUDA without names: the two generations that are most in use, and by PTX all later ones.
static constexpr Kind kinds[] = {{"cpu", "native", get<CpuTarget>},
                                 {"cuda", "sm_80,sm_90", get<CudaTarget>}};

llvm::Expected<std::shared_ptr<Target>> dlc::codegen::getTarget(llvm::StringRef text) {
  auto [name, detail] = text.split(':');
  for (const Kind &kind : kinds)
    if (kind.name == name)
      return kind.get(text.contains(':') ? detail : kind.detail);
  return llvm::createStringError("unknown target '" + text.str() +
                                 "': expected cpu, cpu:avx2, cpu:neon, cuda or cuda:sm_80,simt");
}
