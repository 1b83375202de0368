// What of this machine decides how many ranks it takes, and where they run.
#ifndef DLC_TOOLS_DLC_RUN_MACHINE_H
#define DLC_TOOLS_DLC_RUN_MACHINE_H

#include <string>
#include <vector>

namespace dlc::runtime::tool {

/// How many NUMA nodes have as many of the processors `allowed` each, by the files of /sys below
/// `root`; 1 where they differ in that, or the system does not say.
unsigned countNumaNodes(const std::string &root, const std::vector<unsigned> &allowed);

/// How many CUDA devices the driver's library offers to this process, which CUDA_VISIBLE_DEVICES
/// may limit; where there is no such library, how many /proc below `root` lists.
unsigned countCudaDevices(const std::string &root, const char *library = "libcuda.so.1");

} // namespace dlc::runtime::tool

#endif
