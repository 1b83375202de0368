//===- X86.cpp - x86-64: AVX2, AVX-512 and AMX ------------------------------------------------===//
//
// AVX-512 FP16 stays unused, with which LLVM would compute f16 ops in f16 and join them.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Architecture.h"
#include "llvm-c/Target.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace dlc::codegen;
using llvm::SmallVector;
using llvm::StringRef;

namespace {
class X86 : public Architecture {
public:
  StringRef triple() const override { return "x86_64-unknown-linux-gnu"; }

  void registerBackend() const override {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  }

  StringRef plainest() const override { return "x86-64"; }

  llvm::ArrayRef<Alias> aliases() const override {
    static constexpr Alias all[] = {{"avx2", "x86-64-v3"}, {"avx512", "x86-64-v4"}};
    return all;
  }

  SmallVector<StringRef> processors() const override {
    SmallVector<StringRef> names;
    llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
    return names;
  }

  bool knows(StringRef cpu) const override {
    return llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) != llvm::X86::CK_None;
  }

  /// LLVM leaves out what one feature implies of others, and for some what each of 64 bits has.
  CpuFeatures featuresOf(StringRef cpu) const override {
    SmallVector<StringRef> names;
    llvm::X86::getFeaturesForCPU(cpu, names);
    llvm::X86::getFeaturesForCPU("x86-64", names);
    CpuFeatures features;
    for (StringRef name : names) {
      features[name] = true;
      llvm::X86::updateImpliedFeatures(name, true, features);
    }
    features.erase("x87"); // which no host lists
    return features;
  }

  SmallVector<Requirement> requirements() const override {
    return {{DLC_CPU_AVX2_FMA, featuresOf("x86-64-v3")},
            {DLC_CPU_AVX512, featuresOf("x86-64-v4")},
            {DLC_CPU_AVX512_VNNI, {{"avx512vnni", true}}},
            {DLC_CPU_AVX512_BF16, {{"avx512bf16", true}}},
            {DLC_CPU_AMX_BF16, {{"amx-tile", true}, {"amx-bf16", true}}},
            {DLC_CPU_AVX_NE_CONVERT, {{"avxneconvert", true}}}};
  }

  StringRef need() const override { return "AVX2 and FMA"; }

  void setVectors(CpuTarget &target) const override {
    const bool wide = target.required & DLC_CPU_AVX512;
    target.vectorBytes = wide ? 64 : 32;
    target.vectorRegisters = wide ? 32 : 16;
    target.masksLanes = wide;
    target.roundsToBF16 = target.required & (DLC_CPU_AVX512_BF16 | DLC_CPU_AVX_NE_CONVERT);
    target.maximumIsSecond = true;
  }
};
} // namespace

const Architecture &dlc::codegen::x86() {
  static const X86 architecture;
  return architecture;
}
