// The processors that this process may use, and how many threads follow from them.
//
// Threads that run the tasks of one kernel wait for each other: one that shares its core with
// another, or that the system stops because its control group has had its time, holds up all. So
// there is one for each physical core on which the process may run, and no more than its groups
// give time for.
#ifndef DLC_RUNTIME_CORE_PROCESSORS_H
#define DLC_RUNTIME_CORE_PROCESSORS_H

#include <cstdint>
#include <sched.h>
#include <string>
#include <vector>

namespace dlc::runtime {

struct Processors {
  /// Those on which the process may run, hyper-threads each, ascending.
  std::vector<unsigned> allowed;
  /// Their physical cores, each as the lowest number of its hyper-threads, ascending.
  std::vector<unsigned> cores;
  /// How many processors' time its control groups give it; 0: no limit.
  double quota = 0;
  /// The group whose limit that is: the number of its folder. 0: none.
  uint64_t quotaGroup = 0;

  /// Those of one of several processes: `onCores` of them run on these cores, `inGroup` of them
  /// have their time from the group. At least 1.
  unsigned threads(unsigned onCores = 1, unsigned inGroup = 1) const;
};

/// Those of a process that may run on `allowed`, by the files of /proc and /sys below `root`. What
/// is absent there, or cannot be understood, limits nothing.
Processors readProcessors(const std::string &root, std::vector<unsigned> allowed);

/// On which processors this process may run, however many the machine has. `ask` is the system's
/// function, in tests another.
std::vector<unsigned> allowedProcessors(int (*ask)(pid_t, size_t, cpu_set_t *) = sched_getaffinity);

/// Those of this process, as they were when it first asked.
const Processors &processors();

} // namespace dlc::runtime

#endif
