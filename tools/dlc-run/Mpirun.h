// Whose mpirun there is. Ranks meet through Open MPI, so another starter's processes would each
// train a model of their own; and Open MPI's fifth version has other words for some flags.
#ifndef DLC_TOOLS_DLC_RUN_MPIRUN_H
#define DLC_TOOLS_DLC_RUN_MPIRUN_H

#include "dlc/status.h"

#include <string>

namespace dlc::runtime::tool {

struct Mpirun {
  std::string program = "mpirun";
  /// Open MPI's major version. From the fifth on PRRTE starts its processes.
  unsigned version = 4;
  bool startsByPrrte() const { return version >= 5; }
};

/// Open MPI's major version from what `mpirun --version` prints; a failure says whose it is.
Result<unsigned> readMpirunVersion(const std::string &text);

/// Open MPI's of $PATH: mpirun, or where that is another's mpirun.openmpi, as Debian calls it. That
/// there is none at all is for who starts it to say.
Result<Mpirun> findMpirun();

} // namespace dlc::runtime::tool

#endif
