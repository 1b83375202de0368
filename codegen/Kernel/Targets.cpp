//===- Targets.cpp - targets by their names ---------------------------------------------------===//
#include "codegen/Kernel/KernelGenerator.h"

using namespace dlc::codegen;
using llvm::StringRef;

llvm::Expected<Target> dlc::codegen::getTarget(StringRef text) {
  auto [kind, detail] = text.split(':');
  bool plain = !text.contains(':');
  if (kind == "cpu") {
    llvm::Expected<CpuTarget> cpu = CpuTarget::get(plain ? "native" : detail);
    if (!cpu)
      return cpu.takeError();
    return Target(std::move(*cpu));
  }
  if (kind == "cuda") {
    // Without names: the two generations that are most in use, and by PTX all later ones.
    llvm::Expected<CudaTarget> cuda = CudaTarget::get(plain ? "sm_80,sm_90" : detail);
    if (!cuda)
      return cuda.takeError();
    return Target(std::move(*cuda));
  }
  return llvm::createStringError("unknown target '" + text.str() +
                                 "': expected cpu, cpu:avx2, cpu:neon, cuda or cuda:sm_80,simt");
}

int64_t dlc::codegen::mostRowBytes(const Target &target) {
  return std::visit([](const auto &one) { return one.machine.mostRowBytes(); }, target);
}

std::string dlc::codegen::targetName(const Target &target) {
  if (auto *cpu = std::get_if<CpuTarget>(&target))
    return cpu->cpu;
  const CudaTarget &cuda = std::get<CudaTarget>(target);
  std::string names;
  for (unsigned architecture : cuda.architectures)
    names += (names.empty() ? "sm_" : ",sm_") + std::to_string(architecture);
  if (cuda.simt)
    names += names.empty() ? "simt" : ",simt";
  return "cuda:" + names;
}
