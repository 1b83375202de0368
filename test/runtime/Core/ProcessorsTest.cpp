// Which processors a process may use, in made-up trees of /proc and /sys.
#include "runtime/Core/Processors.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// Files of a system, below a folder.
class System {
public:
  void file(const std::string &path, std::string_view text) {
    const std::string full = folder.path(path);
    std::filesystem::create_directories(std::filesystem::path(full).parent_path());
    const std::byte *bytes = reinterpret_cast<const std::byte *>(text.data());
    writeFile(full, {bytes, bytes + text.size()});
  }
  void siblings(unsigned processor, std::string_view list) {
    file("sys/devices/system/cpu/cpu" + std::to_string(processor) +
             "/topology/thread_siblings_list",
         list);
  }
  /// `cores` with two hyper-threads each: 0 and cores, 1 and cores + 1, ...
  void hyperThreads(unsigned cores) {
    for (unsigned i = 0; i < 2 * cores; ++i)
      siblings(i, std::to_string(i % cores) + "," + std::to_string(i % cores + cores) + "\n");
  }
  /// This process in a group of the second version, which is mounted from its root.
  void group(const std::string &name) {
    file("proc/self/cgroup", "0::" + name + "\n");
    file("proc/self/mountinfo", "22 1 0:21 / /proc rw - proc proc rw\n"
                                "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 "
                                "rw,nsdelegate\n");
  }
  void most(const std::string &group, std::string_view text) {
    file("sys/fs/cgroup" + group + "/cpu.max", text);
  }
  Processors read(std::vector<unsigned> allowed) const {
    return readProcessors(folder.root(), std::move(allowed));
  }
  Processors read(unsigned count) const {
    std::vector<unsigned> all(count);
    std::iota(all.begin(), all.end(), 0);
    return read(std::move(all));
  }
  unsigned threads(unsigned count) const { return read(count).threads(); }

private:
  TemporaryFolder folder;
};

using Numbers = std::vector<unsigned>;
using Texts = std::vector<const char *>;

// Nothing known but the affinity: each processor is a core, however many there are.
TEST(Processors, WithoutFiles) {
  System system;
  EXPECT_EQ(system.threads(1), 1u);
  EXPECT_EQ(system.threads(6), 6u);
  EXPECT_EQ(system.threads(1500), 1500u);
  EXPECT_EQ(system.read(6).quota, 0);
  EXPECT_EQ(system.read(Numbers{}).threads(), 1u);
}

// Hyper-threads of a core are one, also where only some of them are allowed.
TEST(Processors, HyperThreads) {
  System system;
  system.hyperThreads(4);
  EXPECT_EQ(system.read(8).cores, (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(system.read({1, 5}).cores, Numbers{1});
  EXPECT_EQ(system.read({2, 5, 6, 7}).cores, (Numbers{1, 2, 3}));
  EXPECT_EQ(system.read(Numbers{6}).cores, Numbers{2});
  // Neighbours, in ranges.
  System neighbours;
  for (unsigned i = 0; i < 4; ++i)
    neighbours.siblings(i, i < 2 ? "0-1\n" : "2-3\n");
  EXPECT_EQ(neighbours.read(4).cores, (Numbers{0, 2}));
}

TEST(Processors, ManyHyperThreads) {
  System system;
  for (unsigned processor : {0, 1099, 1100, 2199})
    system.siblings(processor, processor % 1100 == 0 ? "0,1100" : "1099,2199");
  EXPECT_EQ(system.threads(2200), 2198u);
  EXPECT_EQ(system.read({0, 1099, 1100, 2199}).cores, (Numbers{0, 1099}));
}

// What is offline is not there, whatever the affinity says.
TEST(Processors, Offline) {
  System system;
  system.file("sys/devices/system/cpu/online", "0-1,5\n");
  EXPECT_EQ(system.read(8).allowed, (Numbers{0, 1, 5}));
  EXPECT_EQ(system.threads(8), 3u);
}

TEST(Processors, GarbageFiles) {
  System system;
  system.file("sys/devices/system/cpu/online", "all\n");
  for (const char *text : Texts{"", "\n", "x", "0-", "-1", "3-1", "0,1x", "0-4294967296", "1,2"}) {
    system.siblings(0, text);
    EXPECT_EQ(system.read(Numbers{0}).cores, (Numbers{0})) << text;
  }
  system.siblings(0, "0-4294967295");
  EXPECT_EQ(system.read(Numbers{0}).cores, Numbers{0});
  system.group("/a");
  for (const char *text : Texts{"", "\n", "x 100000", "200000", "200000 x", "200000 0", "0 100000",
                                "-1 100000", "max", "2e5 100000"}) {
    system.most("/a", text);
    EXPECT_EQ(system.read(8).quota, 0) << text;
  }
  for (const char *text : {"", "0", "0:", "::", "x\n:\n", "0::/a/../../..\n"}) {
    system.file("proc/self/cgroup", text);
    EXPECT_EQ(system.read(8).quota, 0) << text;
  }
  system.group("/a");
  system.most("/a", "200000 100000\n");
  EXPECT_EQ(system.read(8).quota, 2);
  for (const char *text : {"", " - ", "1 2 3 / /sys/fs/cgroup", "- cgroup2 cgroup2 rw",
                           "30 22 0:26 / /sys/fs/cgroup rw - cgroup2\n"}) {
    system.file("proc/self/mountinfo", text);
    EXPECT_EQ(system.read(8).quota, 0) << text;
  }
}

TEST(Processors, Quota) {
  System system;
  system.group("/job");
  EXPECT_EQ(system.threads(64), 64u) << "a group without a limit of time";
  system.most("/job", "max 100000\n");
  EXPECT_EQ(system.threads(64), 64u);
  system.most("/job", "200000 100000\n");
  EXPECT_EQ(system.threads(64), 2u);
  EXPECT_EQ(system.threads(1), 1u) << "more time than cores";
  EXPECT_NE(system.read(64).quotaGroup, 0u);
  // The nearest number, but none is too few.
  for (auto [quota, threads] :
       {std::pair("10000", 1u), {"140000", 1}, {"150000", 2}, {"390000", 4}}) {
    system.most("/job", quota + std::string(" 100000\n"));
    EXPECT_EQ(system.threads(64), threads) << quota;
  }
  system.hyperThreads(2);
  EXPECT_EQ(system.threads(4), 2u) << "cores are fewer";
}

// The limits of all groups around it hold, the tightest one first.
TEST(Processors, NestedGroups) {
  System system;
  system.group("/slice/job/step");
  system.most("/slice", "400000 100000");
  system.most("/slice/job", "max 100000");
  system.most("/slice/job/step", "1600000 200000");
  system.most("/slice/other", "100000 100000");
  EXPECT_EQ(system.read(64).quota, 4);
  system.most("/slice/job", "150000 50000");
  EXPECT_EQ(system.read(64).quota, 3);
  // In a container the group is the root, and has a limit.
  system.group("/");
  system.most("", "200000 100000");
  EXPECT_EQ(system.read(64).quota, 2);
  // From outside of the container's groups only what is mounted can be looked at, and is not ours.
  system.group("/../outside");
  system.most("/outside", "100000 100000");
  EXPECT_EQ(system.read(64).quota, 2);
}

// The first version: a hierarchy for the controller, with others or by itself.
TEST(Processors, FirstVersion) {
  System system;
  system.file("proc/self/cgroup",
              "12:memory:/a\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/\n0::/\n");
  const std::string mount =
                        " /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n",
                    memory = "35 25 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  system.file("proc/self/mountinfo", memory + "36 25 0:31 /" + mount);
  const std::string all = "sys/fs/cgroup/cpu,cpuacct/", own = all + "docker/a/";
  system.file(own + "cpu.cfs_quota_us", "-1\n");
  system.file(own + "cpu.cfs_period_us", "100000\n");
  system.file("sys/fs/cgroup/memory/docker/a/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(system.read(64).quota, 0);
  system.file(own + "cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(system.threads(64), 3u);
  system.file(all + "docker/cpu.cfs_quota_us", "100000\n");
  system.file(all + "docker/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(system.threads(64), 2u);
  // Inside of a container only its own group is mounted.
  system.file("proc/self/mountinfo", "36 25 0:31 /docker/a" + mount);
  system.file(all + "cpu.cfs_quota_us", "500000\n");
  system.file(all + "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system.threads(64), 5u);
  // Another's is no limit for this process.
  system.file("proc/self/mountinfo", "36 25 0:31 /docker/ab" + mount);
  EXPECT_EQ(system.read(64).quota, 0);
}

// Processes that share cores, or a group's time, take their parts.
TEST(Processors, SharedByProcesses) {
  System system;
  system.hyperThreads(8);
  system.group("/");
  EXPECT_EQ(system.read(16).threads(2, 1), 4u);
  EXPECT_EQ(system.read(16).threads(16, 16), 1u);
  system.most("", "600000 100000");
  EXPECT_EQ(system.read(16).threads(1, 2), 3u);
  EXPECT_EQ(system.read(16).threads(4, 2), 2u);
}

/// Systems with room for 4096 processors, of which three are there, and with more than any has.
int manyProcessors(pid_t, size_t bytes, cpu_set_t *set) {
  if (bytes < 512)
    return errno = EINVAL, -1;
  for (unsigned processor : {0u, 1023u, 4095u})
    CPU_SET_S(processor, bytes, set);
  return 0;
}
int tooMany(pid_t, size_t, cpu_set_t *) { return errno = EINVAL, -1; }
int forbidden(pid_t, size_t, cpu_set_t *) { return errno = EPERM, -1; }

TEST(Processors, Affinity) {
  EXPECT_EQ(allowedProcessors(manyProcessors), (Numbers{0, 1023, 4095}));
  EXPECT_FALSE(allowedProcessors(tooMany).empty());
  EXPECT_FALSE(allowedProcessors(forbidden).empty());
  EXPECT_FALSE(processors().cores.empty());
}

} // namespace
