// Sockets with names that are in no file system.
#include "runtime/Core/PathClaim.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace dlc::runtime {

PathClaim::~PathClaim() {
  if (socket >= 0)
    close(socket);
}

Result<PathClaim> PathClaim::take(const std::string &path) {
  std::error_code error;
  // What does not exist yet would stay relative otherwise, and be one file in all folders.
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  const std::string place = std::filesystem::weakly_canonical(whole, error);
  const std::string &known = error ? path : place;
  uint8_t hash[16];
  hashBytes(std::as_bytes(std::span(known)), hash);
  const std::string name = concat("dlc writes ", hexadecimal(hash));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  // A first byte of zero: the name of no file.
  std::ranges::copy(name, address.sun_path + 1);
  PathClaim claim;
  claim.socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (claim.socket < 0)
    return ioFailure(path, "cannot be claimed");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(claim.socket, reinterpret_cast<const sockaddr *>(&address), size) == 0)
    return claim;
  if (errno == EADDRINUSE)
    return invalid(path, ": is being written by another run");
  return ioFailure(path, "cannot be claimed");
}

} // namespace dlc::runtime
