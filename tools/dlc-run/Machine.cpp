// NUMA nodes by /sys, CUDA devices by their driver.
#include "tools/dlc-run/Machine.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <iterator>
#include <map>

namespace dlc::runtime::tool {

using Entries = std::filesystem::directory_iterator;

/// What cannot be read is empty.
static Entries entriesOf(const std::string &folder) {
  std::error_code none;
  Entries entries(folder, none);
  return none ? Entries() : entries;
}

/// "node1", as /sys links it to from a processor; empty without one.
static std::string nodeOf(const std::string &processor) {
  for (const auto &entry : entriesOf(processor)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node"))
      return name;
  }
  return "";
}

unsigned countNumaNodes(const std::string &root, const std::vector<unsigned> &allowed) {
  std::map<std::string, unsigned> processors;
  for (unsigned processor : allowed)
    ++processors[nodeOf(concat(root, "/sys/devices/system/cpu/cpu", processor))];
  const auto differs = [&](const auto &node) { return node.second != processors.begin()->second; };
  return processors.empty() || std::ranges::any_of(processors, differs)
             ? 1
             : static_cast<unsigned>(processors.size());
}

unsigned countCudaDevices(const std::string &root, const char *library) {
  // It stays open: the driver is not made to be closed.
  void *driver = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (!driver)
    return static_cast<unsigned>(
        std::distance(entriesOf(root + "/proc/driver/nvidia/gpus"), Entries()));
  const auto initialise = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto getCount = reinterpret_cast<int (*)(int *)>(dlsym(driver, "cuDeviceGetCount"));
  int count = 0;
  if (!initialise || !getCount || initialise(0) != 0 || getCount(&count) != 0)
    return 0;
  return static_cast<unsigned>(std::max(count, 0));
}

} // namespace dlc::runtime::tool
