// Where a watch listens, as a text that goes from rank to rank.
#ifndef DLC_RUNTIME_COLLECTIVES_WATCHADDRESS_H
#define DLC_RUNTIME_COLLECTIVES_WATCHADDRESS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace dlc::runtime {

struct Endpoint {
  sockaddr_storage address = {};
  socklen_t size = 0;
};

struct WatchAddress {
  /// What those who connect say to be known.
  uint64_t token = 0;
  /// nodeNumber() there, and the name that others of the same machine reach it by, if it has one.
  uint64_t node = 0;
  std::string name = {};
  /// 0: from its own machine alone.
  uint16_t port = 0;
  /// IPv4 and IPv6 addresses.
  std::vector<std::string> hosts = {};

  std::string text() const;
  static std::optional<WatchAddress> parse(std::string_view text);
  std::vector<Endpoint> localEndpoints() const;
  std::vector<Endpoint> endpoints() const;
};

/// The addresses of this machine's networks; those of its own loop if it has no other.
std::vector<std::string> ownHosts();

/// The same for all processes of a machine that can reach each other locally, and for no others.
uint64_t nodeNumber();

} // namespace dlc::runtime

#endif
