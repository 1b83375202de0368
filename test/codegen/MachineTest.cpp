//===- MachineTest.cpp - records of machines, and files of them -------------------------------===//
#include "codegen/Machine/MachineFile.h"
#include "codegen/Machine/System.h"
#include "runtime/Core/FileWriter.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace dlc::codegen;

namespace {
/// A file of its own for each test.
class MachineFileTest : public testing::Test {
protected:
  MachineFileTest()
      : path(testing::TempDir() + "dlc-machine-" +
             testing::UnitTest::GetInstance()->current_test_info()->name() + ".json") {}
  ~MachineFileTest() override { std::filesystem::remove(path); }

  void write(const std::string &text) { ASSERT_TRUE(dlc::runtime::writeFile(path, text).ok()); }
  /// What is wrong with a text, behind the file's name; empty if nothing is.
  std::string messageFor(const std::string &text, bool gpu = false) {
    write(text);
    if (gpu) {
      auto machine = readGpuMachine(path);
      return machine ? "" : behindName(llvm::toString(machine.takeError()));
    }
    auto machine = readCpuMachine(path, 64);
    return machine ? "" : behindName(llvm::toString(machine.takeError()));
  }

  const std::string path;

private:
  std::string behindName(const std::string &message) const {
    EXPECT_EQ(message.rfind(path + ": ", 0), 0u) << message;
    return message.substr(std::min(message.size(), path.size() + 2));
  }
};
} // namespace

/// A Zen's caches of one core: what it finds of the last one is a fourth of 32 MiB for eight.
TEST(Machine, Table) {
  const CpuMachine zen = CpuMachine::get("znver4", 64);
  EXPECT_EQ(zen.name, "znver4");
  EXPECT_EQ(zen.lastCacheBytes(), 8 << 20);
  EXPECT_EQ(zen.mostRowBytes(), 256 << 10);
  EXPECT_EQ(zen.tileCyclesPerSecond(64), 1.6e9);
  EXPECT_EQ(zen.tileCyclesPerSecond(32), 2.6e9);
  const CpuMachine rapids = CpuMachine::get("emeraldrapids", 64);
  EXPECT_EQ(rapids.name, "emeraldrapids") << "a name of its own for the record of two";
  EXPECT_EQ(rapids.l2Bytes, 2 << 20);
  const CpuMachine grace = CpuMachine::get("neoverse-v2", 16);
  EXPECT_EQ(grace.fmasPerCycle, 4);
  EXPECT_EQ(CpuMachine::get("grace", 16).fmasPerCycle, 4);
  CpuMachine least;
  least.l3Bytes = 1;
  EXPECT_EQ(least.lastCacheBytes(), 1) << "what times are divided by";
  EXPECT_EQ(grace.tileCyclesPerSecond(16), 2.6e9);
}

/// Who has none is taken for its level.
TEST(Machine, Unknown) {
  EXPECT_EQ(CpuMachine::get("tigerlake", 64).name, "x86-64-v4");
  EXPECT_EQ(CpuMachine::get("alderlake", 32).name, "x86-64-v3");
  EXPECT_EQ(CpuMachine::get("cortex-a72", 16).name, "generic");
}

TEST(Machine, GpuSeconds) {
  GpuMachine machine;
  machine.launchSeconds = 1;
  machine.memoryBytesPerSecond = 10;
  machine.operationsPerSecond = 100;
  EXPECT_EQ(machine.kernelSeconds(20, 100, 3), 3 + 2);
  EXPECT_EQ(machine.kernelSeconds(20, 1000, 1), 1 + 10);
}

TEST_F(MachineFileTest, ReadsWhatItWrites) {
  CpuMachine cpu = CpuMachine::get("znver5", 64);
  cpu.l1Bytes = 48 << 10;
  cpu.hiddenShare = 1.0 / 3;
  write(printMachine(cpu));
  EXPECT_EQ(llvm::cantFail(readCpuMachine(path, 64)), cpu);
  GpuMachine gpu;
  gpu.launchSeconds = 3.5e-6;
  write(printMachine(gpu));
  EXPECT_EQ(llvm::cantFail(readGpuMachine(path)), gpu);
}

/// What a file does not say is as in the record that it names.
TEST_F(MachineFileTest, ReplacesSome) {
  write(
      R"({"dlc_machine": 1, "cpu": "znver4", "l2_bytes": 2097152, "memory_bytes_per_second": 9e9})");
  CpuMachine expected = CpuMachine::get("znver4", 64);
  expected.l2Bytes = 2 << 20;
  expected.memoryBytesPerSecond = 9e9;
  EXPECT_EQ(llvm::cantFail(readCpuMachine(path, 32)), expected);
}

TEST_F(MachineFileTest, Errors) {
  auto cpu = [&](const std::string &fields) {
    return messageFor(R"({"dlc_machine": 1, "cpu": "znver4")" + fields + "}");
  };
  EXPECT_EQ(cpu(""), "");
  EXPECT_EQ(cpu(R"(, "l1_byte": 1)"), "l1_byte: unknown field, did you mean 'l1_bytes'?");
  EXPECT_EQ(cpu(R"(, "colour": 1)").substr(0, 49),
            "colour: unknown field, expected one of l1_bytes, ");
  EXPECT_EQ(cpu(R"(, "l1_bytes": "32 KiB")"),
            "l1_bytes: expected a whole number from 1 to 2^40, found \"32 KiB\"");
  EXPECT_EQ(cpu(R"(, "cores": 0)"), "cores: expected a whole number from 1 to 2^40, found 0");
  EXPECT_EQ(cpu(R"(, "cores": 1.5)"), "cores: expected a whole number from 1 to 2^40, found 1.5");
  EXPECT_EQ(cpu(R"(, "fma_latency": -4)"), "fma_latency: expected a number above 0, found -4");
  EXPECT_EQ(cpu(R"(, "hidden_share": 1.5)"),
            "hidden_share: expected a number above 0, of 1 at most, found 1.5");
  EXPECT_EQ(cpu(R"(, "fma_latency": null)"), "fma_latency: expected a number above 0, found null");
  EXPECT_EQ(messageFor(R"({"dlc_machine": 2, "cpu": "znver4"})"), "dlc_machine: expected 1");
  EXPECT_EQ(messageFor("[]"), "dlc_machine: expected 1");
  EXPECT_EQ(messageFor(R"({"dlc_machine": 1})"), "cpu: expected the name of a processor");
  EXPECT_EQ(messageFor(R"({"dlc_machine": 1, "cpu": "tigerlake"})"),
            "cpu: no record of a 'tigerlake', begin from 'x86-64-v4'");
  EXPECT_EQ(messageFor(R"({"dlc_machine": 1, "gpu": "sm_90"})"),
            "gpu: the code is for a CPU, expected the field cpu");
  EXPECT_EQ(messageFor(R"({"dlc_machine": 1, "cpu": "znver4"})", /*gpu=*/true),
            "cpu: the code is for a GPU, expected the field gpu");
  EXPECT_EQ(messageFor(R"({"dlc_machine": 1, "gpu": "sm_75"})", /*gpu=*/true),
            "gpu: no record of a 'sm_75', begin from 'sm_90'");
  EXPECT_EQ(messageFor("{").substr(0, 3), "[1:");
  EXPECT_EQ(messageFor(std::string(100, '[')), "JSON nested more than 64 deep");
}

namespace {
/// A /sys of its own for each test.
class SystemTest : public testing::Test {
protected:
  SystemTest()
      : root(testing::TempDir() + "dlc-system-" +
             testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~SystemTest() override { std::filesystem::remove_all(root); }

  void addCache(unsigned index, const char *level, const char *type, const char *size,
                const char *sharing) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu3/cache/index" + std::to_string(index);
    std::filesystem::create_directories(folder);
    for (auto [name, text] :
         {std::pair("level", level), {"type", type}, {"size", size}, {"shared_cpu_list", sharing}})
      std::ofstream(folder + "/" + name) << text << '\n';
  }
  CpuMachine read(CpuMachine machine, int64_t cores = 2) {
    readSystem(machine, root, 3, cores);
    return machine;
  }

  const std::string root;
};
} // namespace

/// A Zen 5 with its two threads a core, sixteen on a last cache of 96 MiB.
TEST_F(SystemTest, Caches) {
  addCache(0, "1", "Data", "48K", "3,67");
  addCache(1, "1", "Instruction", "32K", "3,67");
  addCache(2, "2", "Unified", "2048K", "3,67");
  addCache(3, "3", "Unified", "98304K", "0-15,64-79");
  CpuMachine expected;
  expected.l1Bytes = 48 << 10;
  expected.l2Bytes = 2 << 20;
  expected.l3Bytes = 96 << 20;
  expected.l3Cores = 16;
  EXPECT_EQ(read(CpuMachine()), expected);
  expected.cores = 128;
  EXPECT_EQ(read(CpuMachine(), 128), expected);
}

/// Two of the eight cores of a last cache are all that a virtual machine sees.
TEST_F(SystemTest, VirtualMachine) {
  addCache(0, "1", "Data", "32K", "3");
  addCache(1, "3", "Unified", "32768K", "2-3");
  EXPECT_EQ(read(CpuMachine()), CpuMachine());
}

/// What cannot be is left alone.
TEST_F(SystemTest, Nonsense) {
  EXPECT_EQ(read(CpuMachine()), CpuMachine());
  addCache(0, "1", "Data", "0K", "");
  addCache(1, "2", "Unified", "much", "x");
  addCache(2, "3", "Unified", "1K", "9-1");
  addCache(3, "4", "Unified", "1024K", "0-1");
  EXPECT_EQ(read(CpuMachine()), CpuMachine());
}
