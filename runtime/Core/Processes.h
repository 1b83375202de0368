// What the system says of this process and others of the machine.
#ifndef DLC_RUNTIME_CORE_PROCESSES_H
#define DLC_RUNTIME_CORE_PROCESSES_H

#include <optional>
#include <sys/types.h>
#include <vector>

namespace dlc::runtime {

/// getpid(), for what asks often: the system is called once in each process.
pid_t thisProcess();

/// Those that have ended are children until they are waited for; empty where the system does not
/// say.
std::optional<std::vector<pid_t>> childrenOf(pid_t process);

/// As /proc has it: 'R' where it runs, 'T' where it is stopped, 'Z' where it has ended and was not
/// waited for; 'X' where there is none.
char stateOf(pid_t process);

} // namespace dlc::runtime

#endif
