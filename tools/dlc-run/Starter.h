// Runs mpirun: passes on what it and its ranks say, ends it where it does not end by itself, and
// leaves no process behind, however it, a rank or this process ends.
//
// mpirun (Open MPI 4.1) cannot be left alone with that. It dies of standard output that nobody
// reads, ends well where lines of it are lost, may wait for a lock of its own for ever behind ranks
// that failed as they started (PMIx_server_finalize) and for a machine that is gone, and killed it
// leaves ranks that are stopped.
#ifndef DLC_TOOLS_DLC_RUN_STARTER_H
#define DLC_TOOLS_DLC_RUN_STARTER_H

#include "dlc/status.h"

#include <string>
#include <sys/types.h>
#include <vector>

namespace dlc::runtime::tool {

/// How a starter ended.
struct StarterEnd {
  bool succeeded = false;
  /// Where it has not: why, if no line that was passed on began with "error:".
  std::string reason;
  /// Whether standard output took all lines; a reader that left is a reason to stop the ranks.
  Status output;
};

/// Makes SIGINT, SIGTERM and SIGHUP ask the ranks to stop, as SIGUSR2, which mpirun passes on; a
/// second one is for mpirun itself, which then gives its ranks a moment and no more. SIGUSR1 goes
/// to the ranks as it is: they save.
void passSignalsOn();
/// Whether one came.
bool wasInterrupted();

/// Runs the program of that command line, with its flags, to the end. Behind the first error of a
/// rank it has `patience` seconds for it.
Result<StarterEnd> runStarter(const std::vector<std::string> &line, unsigned patience);

/// Whether a process has children that have not ended; true where the system does not say.
bool hasLivingChildren(pid_t process);

/// One line of what mpirun says of a failure, such as "rank 1 ended by signal 9 (Killed)"; empty
/// where it says something else.
std::string explainFailure(const std::string &words);

} // namespace dlc::runtime::tool

#endif
