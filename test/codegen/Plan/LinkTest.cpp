//===- LinkTest.cpp - modules as the loader sees them -----------------------------------------===//
//
// Links modules without kernels and reads them back with the runtime's own code.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Plan/Link.h"
#include "codegen/CPU/CpuTarget.h"
#include "codegen/Plan/ModuleObject.h"
#include "runtime/Core/ModuleFile.h"
#include <gtest/gtest.h>

using namespace dlc;

namespace {

std::string object(const codegen::PlanBlob &plan) {
  llvm::Expected<codegen::CpuTarget> target = codegen::CpuTarget::get("avx2");
  if (!target)
    ADD_FAILURE() << llvm::toString(target.takeError());
  llvm::Expected<std::string> bytes = codegen::buildModuleObject(plan, *target);
  if (!bytes)
    ADD_FAILURE() << llvm::toString(bytes.takeError());
  return *bytes;
}

std::span<const std::byte> view(const std::string &bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

codegen::PlanBlob blob(std::vector<std::string> functions = {}) {
  return {std::string(1000, 'x'), std::move(functions)};
}

TEST(Link, SealedModulePassesTheLoadersChecks) {
  std::string own = object(blob());
  llvm::Expected<std::string> module = codegen::linkModule({own});
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto file = runtime::locateModule(view(*module));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->planAt.size, 1000u);
  EXPECT_EQ(file->planAt.offset % DLC_ALIGNMENT, 0u);
  EXPECT_EQ(file->note.cpu_features, uint64_t(DLC_CPU_AVX2_FMA));
  EXPECT_STREQ(file->note.cpu_name, "x86-64-v3");
  auto status = runtime::checkModule(view(*module), *file);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Link, AnyChangedByteBreaksTheSeal) {
  std::string own = object(blob());
  llvm::Expected<std::string> module = codegen::linkModule({own});
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto file = runtime::locateModule(view(*module));
  ASSERT_TRUE(file.ok());
  for (size_t at = file->planAt.offset; at < module->size(); at += 61) {
    std::string damaged = *module;
    damaged[at] ^= 1;
    auto found = runtime::locateModule(view(damaged));
    EXPECT_FALSE(found.ok() && runtime::checkModule(view(damaged), *found).ok()) << at;
  }
}

TEST(Link, EqualInputEqualBytes) {
  std::string own = object(blob());
  llvm::Expected<std::string> first = codegen::linkModule({own}),
                              second = codegen::linkModule({object(blob())});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

TEST(Link, MissingKernelIsAnError) {
  std::string own = object(blob({"conv_0a1b2c3d"}));
  llvm::Expected<std::string> module = codegen::linkModule({own});
  ASSERT_FALSE(bool(module));
  std::string message = llvm::toString(module.takeError());
  EXPECT_NE(message.find("linking the module failed"), std::string::npos) << message;
  EXPECT_NE(message.find("conv_0a1b2c3d"), std::string::npos) << message;
}

} // namespace
