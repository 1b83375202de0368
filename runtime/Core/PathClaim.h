// A word among the runs of a machine on who writes a file. It leaves nothing behind: the system
// takes it back when the process ends, however it ends.
//
// Ownership: a claim lasts as long as the object. Threads: distinct objects.
#ifndef DLC_RUNTIME_CORE_PATHCLAIM_H
#define DLC_RUNTIME_CORE_PATHCLAIM_H

#include "dlc/status.h"

#include <string>
#include <utility>

namespace dlc::runtime {

class PathClaim {
public:
  PathClaim() = default;
  PathClaim(PathClaim &&other) noexcept : socket(std::exchange(other.socket, -1)) {}
  PathClaim &operator=(PathClaim &&other) noexcept {
    std::swap(socket, other.socket);
    return *this;
  }
  ~PathClaim();

  /// Fails with InvalidArgument where another claim on the same file is alive on this machine, in
  /// this process or in another; `path` need not exist.
  static Result<PathClaim> take(const std::string &path);

private:
  int socket = -1;
};

} // namespace dlc::runtime

#endif
