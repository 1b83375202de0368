// What this machine is called.
#include "runtime/Collectives/WatchAddress.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <span>
#include <sys/un.h>
#include <unistd.h>

namespace dlc::runtime {

/// With zeros in front: addresses of one machine are equally long, and what sending them takes does
/// not depend on the numbers that a system hands out.
static std::string digitsOf(uint64_t number, size_t count) {
  const std::string digits = std::to_string(number);
  return std::string(count - std::min(count, digits.size()), '0') + digits;
}

std::string WatchAddress::text() const {
  std::string text = concat(digitsOf(token, 20), " ", digitsOf(node, 20), " ",
                            name.empty() ? "-" : name, " ", digitsOf(port, 5));
  for (const std::string &host : hosts)
    text += " " + host;
  return text;
}

static std::string_view takeWord(std::string_view &text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

std::optional<WatchAddress> WatchAddress::parse(std::string_view text) {
  WatchAddress address;
  if (!takeNumber(text, address.token) || !takeNumber(text, address.node))
    return std::nullopt;
  const std::string_view name = takeWord(text);
  if (name != "-")
    address.name = name;
  if (!takeNumber(text, address.port))
    return std::nullopt;
  while (!text.empty())
    address.hosts.emplace_back(takeWord(text));
  return address;
}

/// A name that is in no folder, so that none is left of it.
std::vector<Endpoint> WatchAddress::localEndpoints() const {
  sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = {}};
  if (name.empty() || name.size() + 1 > sizeof(to.sun_path))
    return {};
  std::memcpy(to.sun_path + 1, name.data(), name.size());
  Endpoint endpoint;
  std::memcpy(&endpoint.address, &to, sizeof(to));
  endpoint.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return {endpoint};
}

std::vector<Endpoint> WatchAddress::endpoints() const {
  std::vector<Endpoint> all;
  for (const std::string &host : hosts) {
    Endpoint endpoint;
    auto *v4 = reinterpret_cast<sockaddr_in *>(&endpoint.address);
    auto *v6 = reinterpret_cast<sockaddr_in6 *>(&endpoint.address);
    if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
      endpoint.size = sizeof(*v4);
    } else if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
      endpoint.size = sizeof(*v6);
    }
    if (endpoint.size != 0 && port != 0)
      all.push_back(endpoint);
  }
  return all;
}

/// Those of IPv6 that hold on one link alone are left out: they need the name that the other
/// machine has for the link.
static std::string hostOf(const sockaddr &address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    const in_addr &host = reinterpret_cast<const sockaddr_in &>(address).sin_addr;
    if (ntohl(host.s_addr) >> 24 != IN_LOOPBACKNET)
      inet_ntop(AF_INET, &host, text, sizeof(text));
  } else if (address.sa_family == AF_INET6) {
    const in6_addr &host = reinterpret_cast<const sockaddr_in6 &>(address).sin6_addr;
    if (!IN6_IS_ADDR_LOOPBACK(&host) && !IN6_IS_ADDR_LINKLOCAL(&host))
      inet_ntop(AF_INET6, &host, text, sizeof(text));
  }
  return text;
}

std::vector<std::string> ownHosts() {
  std::vector<std::string> hosts;
  ifaddrs *all = nullptr;
  if (getifaddrs(&all) == 0) {
    for (const ifaddrs *one = all; one; one = one->ifa_next)
      if (one->ifa_addr && (one->ifa_flags & IFF_UP))
        if (std::string host = hostOf(*one->ifa_addr); !host.empty())
          hosts.push_back(std::move(host));
    freeifaddrs(all);
  }
  if (hosts.empty())
    hosts = {"127.0.0.1", "::1"};
  return hosts;
}

/// Local connections go as far as a network namespace; a machine has a number of its own each time
/// that it starts.
uint64_t nodeNumber() {
  std::string text;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, text);
  char space[64] = "", name[256] = "";
  if (readlink("/proc/self/ns/net", space, sizeof(space) - 1) > 0)
    text += space;
  if (text.empty() && gethostname(name, sizeof(name) - 1) == 0)
    text = name;
  uint8_t hash[16];
  hashBytes(std::as_bytes(std::span(text)), hash);
  uint64_t number = 0;
  std::memcpy(&number, hash, sizeof(number));
  return number;
}

} // namespace dlc::runtime
