//===- ARM.cpp - 64-bit ARM: NEON -------------------------------------------------------------===//
//
// Code uses the vectors of 16 bytes that each such processor has, whatever the processor: its name
// stands for LLVM's tuning and the machine's record. What later ones have besides is switched off:
// SVE, whose registers are as wide as NEON's on Neoverse V2, arithmetic in f16, which would round
// where others do not, and products of bf16, which no generator emits.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Architecture.h"
#include "llvm-c/Target.h"
#include "llvm/TargetParser/AArch64TargetParser.h"

using namespace dlc::codegen;
using llvm::SmallVector;
using llvm::StringRef;

namespace AArch64 = llvm::AArch64;

namespace {
class ARM : public Architecture {
public:
  StringRef triple() const override { return "aarch64-unknown-linux-gnu"; }

  void registerBackend() const override {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  }

  StringRef plainest() const override { return "generic"; }

  llvm::ArrayRef<Alias> aliases() const override {
    static constexpr Alias all[] = {{"neon", "generic"}};
    return all;
  }

  SmallVector<StringRef> processors() const override {
    SmallVector<StringRef> names;
    AArch64::fillValidCPUArchList(names);
    return names;
  }

  bool knows(StringRef cpu) const override { return AArch64::parseCpu(cpu).has_value(); }

  /// With what a feature implies of others, which LLVM's table of processors leaves out. Those that
  /// it lacks are there as well: for some processors LLVM lists less than it uses.
  CpuFeatures featuresOf(StringRef cpu) const override {
    AArch64::ExtensionSet extensions;
    extensions.addCPUDefaults(*AArch64::parseCpu(cpu));
    CpuFeatures features;
    for (const AArch64::ExtensionInfo &one : AArch64::Extensions)
      if (StringRef name = one.PosTargetFeature; name.consume_front("+"))
        features[name] = extensions.Enabled.test(one.ID);
    return features;
  }

  SmallVector<Requirement> requirements() const override {
    return {{DLC_CPU_NEON, {{"fp-armv8", true}, {"neon", true}}}};
  }

  StringRef need() const override { return "NEON"; }

  void setVectors(CpuTarget &target) const override {
    target.vectorBytes = 16;
    target.vectorRegisters = 32;
  }
};
} // namespace

const Architecture &dlc::codegen::arm() {
  static const ARM architecture;
  return architecture;
}
