// Connections to rank 0, and what silence on them means.
#include "runtime/Collectives/Watch.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlc::runtime {
namespace {

Status socketFailure(std::string_view what) {
  return failure(StatusCode::Io, "ranks: ", what, ": ", std::strerror(errno));
}

/// The IPv4 addresses of this machine's networks; its own loop alone if it has none.
std::vector<std::string> ownAddresses() {
  std::vector<std::string> addresses;
  ifaddrs *all = nullptr;
  if (getifaddrs(&all) != 0)
    return {"127.0.0.1"};
  for (const ifaddrs *one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
      continue;
    char text[INET_ADDRSTRLEN];
    const auto *address = reinterpret_cast<const sockaddr_in *>(one->ifa_addr);
    if (ntohl(address->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET &&
        inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)))
      addresses.emplace_back(text);
  }
  freeifaddrs(all);
  if (addresses.empty())
    addresses.emplace_back("127.0.0.1");
  return addresses;
}

/// A connection, or -1.
int connectTo(const std::string &address, uint16_t port, int milliseconds) {
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1)
    return -1;
  const int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (handle < 0)
    return -1;
  pollfd waiting{handle, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof(error);
  if ((::connect(handle, reinterpret_cast<const sockaddr *>(&to), sizeof(to)) == 0 ||
       errno == EINPROGRESS) &&
      poll(&waiting, 1, milliseconds) == 1 &&
      getsockopt(handle, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
    return handle;
  close(handle);
  return -1;
}

} // namespace

Watch::Watch(WatchOptions given)
    : options(std::move(given)), standings(options.rank, options.timeout) {}

double Watch::now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

Result<std::unique_ptr<Watch>> Watch::listen(WatchOptions options) {
  std::unique_ptr<Watch> watch(new Watch(std::move(options)));
  watch->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  socklen_t size = sizeof(any);
  auto *address = reinterpret_cast<sockaddr *>(&any);
  if (watch->listener < 0 || bind(watch->listener, address, size) != 0 ||
      ::listen(watch->listener, SOMAXCONN) != 0 ||
      getsockname(watch->listener, address, &size) != 0)
    return socketFailure("cannot listen for the others");
  if (getrandom(&watch->token, sizeof(watch->token), 0) != sizeof(watch->token))
    return socketFailure("cannot draw a number");
  watch->listening = concat(watch->token, " ", ntohs(any.sin_port));
  for (const std::string &own : ownAddresses())
    watch->listening += " " + own;
  watch->startThread();
  return watch;
}

Result<std::unique_ptr<Watch>> Watch::connect(WatchOptions options, std::string_view address) {
  std::unique_ptr<Watch> watch(new Watch(std::move(options)));
  std::string_view rest = address;
  uint16_t port = 0;
  const bool isGood = takeNumber(rest, watch->token) && takeNumber(rest, port);
  watch->listening = address;
  auto hub = std::make_unique<Peer>();
  while (isGood && hub->socket < 0 && !rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    hub->socket = watch->greet(std::string(one), port);
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  if (hub->socket < 0)
    return failure(StatusCode::Io, "ranks: rank ", watch->options.rank,
                   " cannot reach rank 0 at any of its addresses, port ", port);
  hub->welcome = true;
  watch->standings.hear({}, now());
  watch->peers.push_back(std::move(hub));
  watch->startThread();
  return watch;
}

/// A connection on which rank 0 has answered, or -1. An address may be another machine's.
int Watch::greet(const std::string &address, uint16_t port) {
  constexpr int patience = 3000;
  const int handle = connectTo(address, port, patience);
  if (handle < 0)
    return -1;
  const Message hello = message(Message::Kind::Hello);
  Message answer = {};
  pollfd waiting{handle, POLLIN, 0};
  if (send(handle, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello) &&
      poll(&waiting, 1, patience) == 1 &&
      recv(handle, &answer, sizeof(answer), MSG_PEEK) == sizeof(answer) && answer.token == token)
    return handle;
  close(handle);
  return -1;
}

void Watch::startThread() {
  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  thread = runtime::startThread([this] {
    // Nothing may be thrown out of a thread.
    Status status = guarded([this] {
      work();
      return Status();
    });
    if (!status.ok())
      options.onFailure(status);
  });
}

Watch::~Watch() {
  stopping = true;
  if (thread.joinable()) {
    // The thread looks by itself soon, should the pipe be full.
    (void)!write(wake[1], "", 1);
    thread.join();
  }
  if (!leaving && !failed)
    sendAll(message(Message::Kind::Failed));
  for (const auto &peer : peers)
    if (peer->socket >= 0)
      close(peer->socket);
  for (int handle : {listener, wake[0], wake[1]})
    if (handle >= 0)
      close(handle);
}

void Watch::setReason(std::string_view text) {
  std::lock_guard lock(mutex);
  reason = text;
}

void Watch::leave() {
  leaving = true;
  sendAll(message(Message::Kind::Bye));
}

Watch::Message Watch::message(Message::Kind kind, double now) {
  const Standing own = standings.own(now);
  Message message = {};
  message.token = token;
  message.kind = kind;
  message.rank = own.rank;
  message.step = own.step;
  message.started = own.started;
  message.waited = own.waited;
  std::lock_guard lock(mutex);
  std::snprintf(message.text, sizeof(message.text), "%s", reason.c_str());
  return message;
}

/// To a peer that takes nothing more, nothing is sent: its silence will be noticed.
void Watch::sendAll(const Message &message) {
  std::lock_guard lock(mutex);
  for (const auto &peer : peers)
    if (peer->socket >= 0 && peer->welcome)
      (void)!send(peer->socket, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Watch::work() {
  double nextTurn = now();
  std::vector<pollfd> handles;
  while (!stopping) {
    handles.assign({{wake[0], POLLIN, 0}, {listener, POLLIN, 0}});
    for (const auto &peer : peers)
      handles.push_back({peer->socket, POLLIN, 0});
    poll(handles.data(), handles.size(), static_cast<int>(Standings::interval * 1000));
    // New peers are appended, so the first ones keep their places.
    const size_t known = peers.size();
    if (handles[1].revents != 0)
      accept();
    for (size_t i = 0; i < known; ++i)
      if (handles[i + 2].revents != 0)
        receive(*peers[i]);
    // One time for all of the turn: the process may stand still within it as well.
    const double time = now();
    if (time < nextTurn || failed)
      continue;
    nextTurn = time + Standings::interval;
    standings.beginTurn(time);
    sendAll(message(Message::Kind::Beat, time));
    if (!leaving)
      judge(time);
  }
}

void Watch::judge(double now) {
  const Standings::Verdict verdict = standings.judge(now);
  if (!verdict.failure.empty())
    fail(verdict.failure);
  if (!verdict.warning.empty() && options.onWarning)
    options.onWarning(verdict.warning);
}

void Watch::accept() {
  const int handle = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (handle < 0)
    return;
  auto peer = std::make_unique<Peer>();
  peer->socket = handle;
  std::lock_guard lock(mutex);
  peers.push_back(std::move(peer));
}

void Watch::receive(Peer &peer) {
  std::byte bytes[4096];
  while (peer.socket >= 0) {
    const ssize_t size = recv(peer.socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (size <= 0)
      return lose(peer);
    peer.received.insert(peer.received.end(), bytes, bytes + size);
    while (peer.received.size() >= sizeof(Message) && peer.socket >= 0) {
      Message message;
      std::memcpy(&message, peer.received.data(), sizeof(message));
      peer.received.erase(peer.received.begin(), peer.received.begin() + sizeof(message));
      handle(peer, message);
    }
  }
}

void Watch::closePeer(Peer &peer) {
  std::lock_guard lock(mutex);
  close(peer.socket);
  peer.socket = -1;
}

/// The connection ended. Whoever was no rank of this run is forgotten.
void Watch::lose(Peer &peer) {
  closePeer(peer);
  if (peer.welcome && !peer.gone && !leaving)
    fail(peer.rank, standings.stepOf(peer.rank), "ended");
}

void Watch::handle(Peer &peer, const Message &message) {
  if (message.token != token || message.rank >= options.ranks)
    return closePeer(peer);
  if (message.kind == Message::Kind::Hello) {
    peer.rank = message.rank;
    {
      std::lock_guard lock(mutex);
      peer.welcome = true;
    }
    sendAll(this->message(Message::Kind::Beat));
  }
  if (message.rank == peer.rank && !peer.gone)
    standings.hear({message.rank, message.step, message.started, message.waited}, now());
  if (message.kind == Message::Kind::Beat || message.kind == Message::Kind::Hello)
    return;
  peer.gone = true;
  standings.leave(peer.rank);
  if (message.kind == Message::Kind::Bye)
    return;
  const std::string text(message.text, strnlen(message.text, sizeof(message.text)));
  // Rank 0 says what has happened; any other, why it is about to end itself.
  if (options.rank != 0 && message.rank == 0 && message.verdict)
    return report(text);
  fail(message.rank, message.step, text.empty() ? "ended" : concat("ended: ", text));
}

void Watch::fail(unsigned rank, uint64_t atStep, std::string_view what) {
  fail(concat(standings.ownPause(now()), "rank ", rank, " ", what, " in step ", atStep));
}

/// The first failure is the one that counts.
void Watch::fail(const std::string &text) {
  if (failed)
    return;
  Message verdict = message(Message::Kind::Failed);
  verdict.verdict = 1;
  std::snprintf(verdict.text, sizeof(verdict.text), "%s", text.c_str());
  if (options.rank == 0)
    sendAll(verdict);
  report(text);
}

void Watch::report(std::string_view text) {
  if (failed || leaving)
    return;
  failed = true;
  options.onFailure(Status(StatusCode::Failed, text));
}

} // namespace dlc::runtime
