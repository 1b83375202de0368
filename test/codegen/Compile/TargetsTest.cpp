//===- TargetsTest.cpp - targets as everything but their folders sees them --------------------===//
#include "codegen/Targets.h"
#include <gtest/gtest.h>

using namespace dlc;
using namespace dlc::codegen;

static std::shared_ptr<Target> targetOf(const char *name) {
  return llvm::cantFail(getTarget(name));
}

TEST(Targets, Cpu) {
  const auto target = targetOf("cpu:znver4");
  EXPECT_EQ(target->name(), "znver4");
  const ModuleNeeds needs = target->needs();
  EXPECT_TRUE(needs.has(DLC_TARGET_CPU));
  EXPECT_FALSE(needs.has(DLC_TARGET_CUDA) || needs.has(DLC_TARGET_SIMT));
  EXPECT_EQ(needs.cpu, "znver4");
  EXPECT_TRUE(needs.cpuFeatures & DLC_CPU_AVX512_BF16);
  EXPECT_EQ(target->triple(), "x86_64-unknown-linux-gnu");
  EXPECT_FALSE(target->hasImages());
  EXPECT_TRUE(target->has(Ability::ImageLayouts));
  EXPECT_FALSE(target->has(Ability::Libraries));
  EXPECT_TRUE(target->hasAlgorithm(ConvolutionAlgorithm::Direct));
  EXPECT_EQ(target->streams().streams, 1);
  EXPECT_EQ(targetOf("cpu:neoverse-v2")->triple(), "aarch64-unknown-linux-gnu");
}

TEST(Targets, Cuda) {
  const auto target = targetOf("cuda:sm_90,simt,sm_80");
  EXPECT_EQ(target->name(), "cuda:sm_80,sm_90,simt");
  EXPECT_EQ(target->needs().targets, 1u << DLC_TARGET_CUDA | 1u << DLC_TARGET_SIMT);
  EXPECT_EQ(targetOf("cuda:simt")->needs().targets, 1u << DLC_TARGET_SIMT);
  EXPECT_EQ(targetOf("cuda")->needs().cpuFeatures, 0u);
  EXPECT_TRUE(target->hasImages());
  EXPECT_TRUE(target->has(Ability::Libraries));
  EXPECT_FALSE(target->has(Ability::ImageLayouts));
  EXPECT_FALSE(target->hasAlgorithm(ConvolutionAlgorithm::Direct));
  EXPECT_GT(target->streams().streams, 1);
  EXPECT_TRUE(target->probes().empty());
}

/// What kernels are printed as are different things.
TEST(Targets, Forms) {
  for (const char *name : {"cpu:avx2", "cpu:neon"})
    EXPECT_TRUE(llvm::is_contained(targetOf(name)->forms(), KernelForm::Assembly)) << name;
  EXPECT_FALSE(llvm::is_contained(targetOf("cpu:avx2")->forms(), KernelForm::PTX));
  EXPECT_FALSE(llvm::is_contained(targetOf("cuda")->forms(), KernelForm::Assembly));
  EXPECT_TRUE(llvm::is_contained(targetOf("cuda")->forms(), KernelForm::PTX));
}

/// A copy is one of its own, whose machine can be another.
TEST(Targets, Clone) {
  const auto target = targetOf("cpu:znver4"), copy = target->clone();
  const std::string machine = target->printMachine();
  EXPECT_EQ(copy->printMachine(), machine);
  EXPECT_EQ(copy->identity(), target->identity());
  for (const MachineProbe &probe : copy->probes())
    for (double *rate : probe.rates)
      *rate *= 2;
  EXPECT_NE(copy->printMachine(), machine);
  EXPECT_NE(copy->identity(), target->identity());
  EXPECT_EQ(target->printMachine(), machine);
}

TEST(Targets, Errors) {
  auto messageOf = [](const char *name) {
    auto target = getTarget(name);
    return target ? "" : llvm::toString(target.takeError());
  };
  EXPECT_EQ(messageOf("gpu"), "unknown target 'gpu': expected cpu, cpu:avx2, cpu:neon, cuda or "
                              "cuda:sm_80,simt");
  EXPECT_EQ(messageOf(""), "unknown target '': expected cpu, cpu:avx2, cpu:neon, cuda or "
                           "cuda:sm_80,simt");
  EXPECT_TRUE(llvm::StringRef(messageOf("cuda:")).starts_with("unknown architecture ''"));
  EXPECT_TRUE(llvm::StringRef(messageOf("cpu:z80")).starts_with("unknown CPU 'z80'"));
}
