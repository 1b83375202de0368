//===- CpuTargetTest.cpp - what code for a processor may use ----------------------------------===//
#include "codegen/CPU/Architecture.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace dlc::codegen;
using llvm::StringRef;

namespace {

constexpr uint64_t avx2 = DLC_CPU_AVX2_FMA, avx512 = avx2 | DLC_CPU_AVX512,
                   vnni = avx512 | DLC_CPU_AVX512_VNNI, bf16 = vnni | DLC_CPU_AVX512_BF16,
                   neon = DLC_CPU_NEON;

/// DLC_NATIVE_CPU for a scope, null without it.
class NativeCpu {
public:
  explicit NativeCpu(const char *name) {
    if (const char *value = std::getenv("DLC_NATIVE_CPU"))
      before = value;
    set(name);
  }
  ~NativeCpu() { set(before ? before->c_str() : nullptr); }

private:
  static void set(const char *name) {
    name ? setenv("DLC_NATIVE_CPU", name, 1) : unsetenv("DLC_NATIVE_CPU");
  }
  std::optional<std::string> before;
};

std::string messageFor(StringRef name) {
  auto target = CpuTarget::get(name);
  return target ? "none" : llvm::toString(target.takeError());
}

/// Whatever the subtarget of a processor has: features and tunings.
llvm::StringSet<> enabledBy(StringRef cpu, StringRef features,
                            const Architecture &architecture = x86()) {
  architecture.registerBackend();
  llvm::Triple triple(architecture.triple());
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      found->createMCSubtargetInfo(triple, cpu, features));
  llvm::StringSet<> names;
  for (const llvm::SubtargetFeatureKV &feature : subtarget->getEnabledProcessorFeatures())
    names.insert(feature.Key);
  return names;
}

} // namespace

/// A processor's vectors, and the bits that the module's note asks for.
TEST(CpuTarget, Names) {
  for (auto [name, required, bytes] : {std::tuple("haswell", avx2, 32u),
                                       {"x86-64-v3", avx2, 32},
                                       {"avx2", avx2, 32},
                                       {"znver3", avx2, 32},
                                       {"alderlake", avx2, 32},
                                       {"knl", avx2, 32},
                                       {"sierraforest", avx2 | DLC_CPU_AVX_NE_CONVERT, 32},
                                       {"arrowlake", avx2 | DLC_CPU_AVX_NE_CONVERT, 32},
                                       {"skylake-avx512", avx512, 64},
                                       {"x86-64-v4", avx512, 64},
                                       {"avx512", avx512, 64},
                                       {"icelake-server", vnni, 64},
                                       {"cooperlake", bf16, 64},
                                       {"sapphirerapids", bf16 | DLC_CPU_AMX_BF16, 64},
                                       {"znver4", bf16, 64},
                                       {"znver5", bf16, 64},
                                       {"neon", neon, 16},
                                       {"neoverse-v2", neon, 16},
                                       {"grace", neon, 16},
                                       {"cortex-a53", neon, 16},
                                       {"cortex-a320", neon, 16},
                                       {"olympus", neon, 16},
                                       {"ampere1c", neon, 16},
                                       {"fujitsu-monaka", neon, 16}}) {
    auto target = CpuTarget::get(name);
    ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
    EXPECT_EQ(target->required, required) << name;
    EXPECT_EQ(target->vectorBytes, bytes) << name;
    EXPECT_EQ(target->vectorRegisters, bytes == 32 ? 16u : 32u) << name;
  }
  EXPECT_EQ(CpuTarget::get("avx2")->cpu, "x86-64-v3");
  EXPECT_EQ(CpuTarget::get("neon")->cpu, "generic");
  EXPECT_EQ(CpuTarget::get("avx512")->features, CpuTarget::get("x86-64-v4")->features);
}

TEST(CpuTarget, Errors) {
  EXPECT_EQ(messageFor("znver55"), "unknown CPU 'znver55', did you mean 'znver5'?");
  EXPECT_EQ(messageFor("sapphire-rapids"),
            "unknown CPU 'sapphire-rapids', did you mean 'sapphirerapids'?");
  const std::string list = messageFor("epyc");
  EXPECT_TRUE(StringRef(list).starts_with(
      "unknown CPU 'epyc', expected one of native, avx2, avx512, alderlake, "))
      << list;
  EXPECT_NE(list.find(", haswell, "), std::string::npos) << list;
  EXPECT_NE(list.find(", neon, "), std::string::npos) << list;
  EXPECT_NE(list.find(", neoverse-v2, "), std::string::npos) << list;
  EXPECT_EQ(messageFor("neoverse-v9"), "unknown CPU 'neoverse-v9', did you mean 'neoverse-v1'?");
  EXPECT_EQ(list.find("sandybridge"), std::string::npos) << list;
  EXPECT_EQ(messageFor(""), "unknown CPU ''" + list.substr(list.find(", expected")));
  for (const char *name : {"sandybridge", "x86-64", "x86-64-v2"})
    EXPECT_EQ(messageFor(name), "the processor '" + std::string(name) +
                                    "' lacks AVX2 and FMA, which the CPU target needs");
  // Of 32 bits.
  EXPECT_TRUE(StringRef(messageFor("pentium3")).starts_with("unknown CPU 'pentium3'"));
}

/// No name makes LLVM use what the note cannot ask for: of all that any processor has, only what
/// the bits stand for is on.
TEST(CpuTarget, UsesWhatTheNoteAsksFor) {
  llvm::SmallVector<StringRef> processors;
  llvm::X86::fillValidCPUArchList(processors, /*Only64Bit=*/true);
  llvm::StringSet<> known;
  for (StringRef cpu : processors) {
    llvm::SmallVector<StringRef> features;
    llvm::X86::getFeaturesForCPU(cpu, features);
    known.insert(features.begin(), features.end());
  }
  ASSERT_TRUE(known.contains("avx512fp16") && known.contains("amx-bf16"));
  unsigned compiled = 0;
  for (StringRef cpu : processors) {
    auto target = CpuTarget::get(cpu);
    if (!target) {
      llvm::consumeError(target.takeError());
      continue;
    }
    ++compiled;
    std::string allowed = "+64bit";
    for (auto [bit, names] :
         {std::pair(avx512, ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"),
          {vnni, ",+avx512vnni"},
          {bf16, ",+avx512bf16"},
          {uint64_t(DLC_CPU_AMX_BF16), ",+amx-tile,+amx-bf16"},
          {uint64_t(DLC_CPU_AVX_NE_CONVERT), ",+avxneconvert"}})
      if ((target->required & bit) == bit)
        allowed += names;
    const llvm::StringSet<> most = enabledBy("x86-64-v3", allowed);
    const llvm::StringSet<> found = enabledBy(target->cpu, target->features);
    EXPECT_TRUE(found.contains("avx2") && found.contains("fma")) << cpu.str();
    EXPECT_EQ(found.contains("avx512vl"), bool(target->required & DLC_CPU_AVX512)) << cpu.str();
    for (const auto &feature : found)
      EXPECT_TRUE(most.contains(feature.first()) || !known.contains(feature.first()))
          << cpu.str() << " uses " << feature.first().str();
  }
  EXPECT_GT(compiled, 30u);
}

/// The same of ARM: SVE, arithmetic in f16 and products of bf16 are off, whatever has them, and the
/// tuning stays the processor's.
TEST(CpuTarget, UsesNeonAlone) {
  for (StringRef cpu : arm().processors()) {
    auto target = CpuTarget::get(cpu);
    ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
    const llvm::StringSet<> found = enabledBy(target->cpu, target->features, arm());
    EXPECT_TRUE(found.contains("neon")) << cpu.str();
    for (StringRef other : {"sve", "sve2", "sme", "fullfp16", "bf16", "i8mm", "dotprod", "lse"})
      EXPECT_FALSE(found.contains(other)) << cpu.str() << " uses " << other.str();
  }
  const CpuTarget v2 = llvm::cantFail(CpuTarget::get("neoverse-v2"));
  EXPECT_TRUE(enabledBy(v2.cpu, "", arm()).contains("sve2"));
  EXPECT_TRUE(enabledBy(v2.cpu, v2.features, arm()).contains("use-postra-scheduler"));
}

/// The name of this machine's processor means the same as "native", so that modules and caches do:
/// unless it lacks what the name stands for.
TEST(CpuTarget, Native) {
  NativeCpu none(nullptr);
  const CpuTarget native = llvm::cantFail(CpuTarget::get("native"));
  const CpuTarget named = llvm::cantFail(CpuTarget::get(native.cpu));
  EXPECT_EQ(native.required & ~named.required, 0u);
  EXPECT_EQ(native.features == named.features, native.required == named.required);
}

/// Another processor in this one's place has its name, and never more than this one has.
TEST(CpuTarget, NativeInTests) {
  uint64_t own;
  {
    NativeCpu none(nullptr);
    own = CpuTarget::get("native")->required;
  }
  for (const char *name : {"haswell", "skylake-avx512", "znver4", "znver5", "sapphirerapids"}) {
    NativeCpu other(name);
    const CpuTarget target = llvm::cantFail(CpuTarget::get("native"));
    EXPECT_EQ(target.cpu, name);
    EXPECT_EQ(target.required, CpuTarget::get(name)->required & own);
    EXPECT_EQ(CpuTarget::get("znver4")->required, bf16) << "a name is not the machine's";
  }
  NativeCpu wrong("zen");
  EXPECT_TRUE(StringRef(messageFor("native")).starts_with("unknown CPU 'zen'"));
}
