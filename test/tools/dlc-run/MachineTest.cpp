// NUMA nodes and CUDA devices, in made-up trees of /sys and /proc.
#include "tools/dlc-run/Machine.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace dlc::runtime::tool;
using namespace dlc::test;

namespace {

class Machine : public testing::Test {
protected:
  /// As /sys shows to which node a processor belongs.
  void processor(unsigned number, unsigned node) {
    add("sys/devices/system/cpu/cpu" + std::to_string(number) + "/node" + std::to_string(node));
  }
  void add(const std::string &path) { std::filesystem::create_directories(folder.path(path)); }
  std::string root() const { return folder.root(); }

private:
  TemporaryFolder folder;
};

TEST_F(Machine, NumaNodes) {
  for (unsigned i = 0; i < 8; ++i)
    processor(i, i / 4);
  EXPECT_EQ(countNumaNodes(root(), {0, 1, 2, 3, 4, 5, 6, 7}), 2u);
  // Those of which a job has processors count.
  EXPECT_EQ(countNumaNodes(root(), {4, 5}), 1u);
  EXPECT_EQ(countNumaNodes(root(), {0, 7}), 2u);
  // On nodes of different sizes equal ranks would wait for each other.
  EXPECT_EQ(countNumaNodes(root(), {0, 1, 2, 7}), 1u);
}

TEST_F(Machine, NumaNodesThatTheSystemDoesNotShow) {
  EXPECT_EQ(countNumaNodes(root(), {0, 1}), 1u);
  EXPECT_EQ(countNumaNodes(root(), {}), 1u);
}

// What the driver's library says, where there is one, goes before /proc: launch-mpirun.test.
TEST_F(Machine, CudaDevicesWithoutALibrary) {
  EXPECT_EQ(countCudaDevices(root(), "libno-such-driver.so"), 0u);
  add("proc/driver/nvidia/gpus/0000:01:00.0");
  add("proc/driver/nvidia/gpus/0000:02:00.0");
  EXPECT_EQ(countCudaDevices(root(), "libno-such-driver.so"), 2u);
}

} // namespace
