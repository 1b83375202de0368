// Connections of the ranks to each other beside MPI's.
//
// One thread serves all of a process's, and has the kernel say which of them have something. What
// comes within `gathering` seconds costs one wake-up.
#include "runtime/Collectives/Watch.h"
#include "runtime/Collectives/WatchAddress.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

namespace dlc::runtime {
namespace {

using Kind = WatchMessage::Kind;
using Clock = std::chrono::steady_clock;

/// Seconds.
constexpr double gathering = 0.02;

/// As many files as the system lets this process have; false if it has them already.
bool allowMoreFiles() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
    return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// What `open` gives, a second time where it was only a limit that was in the way.
template <typename Open> int openFile(const Open &open) {
  const int handle = open();
  return handle < 0 && errno == EMFILE && allowMoreFiles() ? open() : handle;
}

int openSocket(int family) {
  return openFile([&] { return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

void closeFile(int handle) {
  if (handle >= 0)
    close(handle);
}

Status socketFailure(std::string_view what) {
  return failure(StatusCode::Io, "ranks: ", what, ": ", std::strerror(errno));
}

int milliseconds(double seconds) {
  return static_cast<int>(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1000));
}

/// A connection that has perhaps still to be made, or -1.
int beginConnection(const Endpoint &to) {
  const int handle = openSocket(to.address.ss_family);
  if (handle < 0)
    return -1;
  const auto *address = reinterpret_cast<const sockaddr *>(&to.address);
  if (::connect(handle, address, to.size) == 0 || errno == EINPROGRESS)
    return handle;
  close(handle);
  return -1;
}

/// Says hello at all of some endpoints at once, and takes who answers first, within some seconds.
class Greeting {
public:
  Greeting(const WatchMessage &hello, unsigned whom, double seconds)
      : hello(hello), whom(whom), end(Clock::now() + std::chrono::duration<double>(seconds)) {}
  ~Greeting() {
    for (const pollfd &attempt : attempts)
      close(attempt.fd);
  }

  /// A connection on which `whom` has answered, or -1. An endpoint may be another machine's.
  int greet(const std::vector<Endpoint> &endpoints) {
    for (const Endpoint &endpoint : endpoints)
      if (const int handle = beginConnection(endpoint); handle >= 0)
        attempts.push_back({handle, POLLOUT, 0});
    while (!attempts.empty()) {
      const double left = std::chrono::duration<double>(end - Clock::now()).count();
      if (left <= 0)
        break;
      if (poll(attempts.data(), attempts.size(), milliseconds(left)) < 0)
        continue;
      for (size_t i = attempts.size(); i-- > 0;)
        if (attempts[i].revents != 0 && advance(attempts[i]))
          return take(i);
        else if (attempts[i].events == 0)
          close(take(i));
    }
    return -1;
  }

private:
  /// True if the answer has come; no events where none will.
  bool advance(pollfd &attempt) const {
    int error = 0;
    socklen_t size = sizeof(error);
    if (attempt.events == POLLOUT) {
      const bool said = getsockopt(attempt.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
                        error == 0 &&
                        ::send(attempt.fd, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello);
      attempt.events = said ? POLLIN : 0;
      return false;
    }
    // It stays there for the watch's thread, which knows by it whom it has.
    WatchMessage answer;
    if (recv(attempt.fd, &answer, sizeof(answer), MSG_PEEK) == sizeof(answer) &&
        answer.token == hello.token && answer.kind == Kind::Welcome && answer.own.rank == whom)
      return true;
    attempt.events = 0;
    return false;
  }
  int take(size_t i) {
    const int handle = attempts[i].fd;
    attempts.erase(attempts.begin() + static_cast<ptrdiff_t>(i));
    return handle;
  }

  const WatchMessage &hello;
  const unsigned whom;
  const std::chrono::time_point<Clock, std::chrono::duration<double>> end;
  std::vector<pollfd> attempts;
};

} // namespace

Watch::Watch(WatchOptions given)
    : options(std::move(given)),
      watcher(
          {options.rank, options.above, options.rank == options.warner}, options.timeout,
          {[this](const WatchMessage &message) { sendAll(message, true, false); },
           [this](const WatchMessage &message) { sendAll(message, false, true); },
           [this](const std::string &text) { options.onFailure(Status(StatusCode::Failed, text)); },
           [this](const std::string &line) {
             if (options.onWarning)
               options.onWarning(line);
           }}) {}

double Watch::now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

Status Watch::prepare() {
  events = openFile([] { return epoll_create1(EPOLL_CLOEXEC); });
  wake = openFile([] { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
  epoll_event event = {.events = EPOLLIN, .data = {.fd = wake}};
  if (events < 0 || wake < 0 || epoll_ctl(events, EPOLL_CTL_ADD, wake, &event) != 0)
    return socketFailure("cannot watch others");
  return {};
}

/// The name that the system has chosen; empty if there is none.
std::string Watch::listenLocally() {
  const int handle = openSocket(AF_UNIX);
  sockaddr_un any = {.sun_family = AF_UNIX, .sun_path = {}};
  auto *address = reinterpret_cast<sockaddr *>(&any);
  socklen_t size = sizeof(any);
  if (handle < 0 || bind(handle, address, sizeof(any.sun_family)) != 0 ||
      ::listen(handle, SOMAXCONN) != 0 || getsockname(handle, address, &size) != 0) {
    closeFile(handle);
    return "";
  }
  listeners.push_back(handle);
  return {any.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1};
}

/// The port, which takes connections of both families where the system has both; 0 if there is
/// none.
uint16_t Watch::listenForAll() {
  for (const int family : {AF_INET6, AF_INET}) {
    const int handle = openSocket(family);
    sockaddr_in6 any = {};
    any.sin6_family = static_cast<sa_family_t>(family);
    auto *address = reinterpret_cast<sockaddr *>(&any);
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(any);
    const int no = 0;
    if (handle >= 0 &&
        (family == AF_INET ||
         setsockopt(handle, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) == 0) &&
        bind(handle, address, size) == 0 && ::listen(handle, SOMAXCONN) == 0 &&
        getsockname(handle, address, &size) == 0) {
      listeners.push_back(handle);
      // Both families have it at the same place.
      return ntohs(any.sin6_port);
    }
    closeFile(handle);
  }
  return 0;
}

Result<std::unique_ptr<Watch>> Watch::listen(WatchOptions options, bool locally) {
  std::unique_ptr<Watch> watch(new Watch(std::move(options)));
  DLC_TRY(watch->prepare());
  WatchAddress address{.node = nodeNumber(), .name = watch->listenLocally()};
  if (!locally && (address.port = watch->listenForAll()) != 0)
    address.hosts = ownHosts();
  if (watch->listeners.empty())
    return socketFailure("cannot listen for the others");
  if (getrandom(&watch->token, sizeof(watch->token), 0) != sizeof(watch->token))
    return socketFailure("cannot draw a number");
  for (const int handle : watch->listeners) {
    epoll_event event = {.events = EPOLLIN, .data = {.fd = handle}};
    if (epoll_ctl(watch->events, EPOLL_CTL_ADD, handle, &event) != 0)
      return socketFailure("cannot listen for the others");
  }
  watch->spare = openFile([] { return open("/dev/null", O_RDONLY | O_CLOEXEC); });
  address.token = watch->token;
  watch->listening = address.text();
  watch->startThread();
  return watch;
}

Result<std::unique_ptr<Watch>> Watch::connect(WatchOptions options, std::string_view address) {
  std::unique_ptr<Watch> watch(new Watch(std::move(options)));
  DLC_TRY(watch->prepare());
  DLC_TRY(watch->join(address));
  watch->startThread();
  return watch;
}

/// On the same machine locally, where no rule for networks is in the way.
Status Watch::join(std::string_view text) {
  const std::optional<WatchAddress> address = WatchAddress::parse(text);
  int handle = -1;
  if (address) {
    tokenAbove = address->token;
    WatchMessage hello = watcher.message(Kind::Hello, now());
    hello.token = tokenAbove;
    Greeting greeting(hello, options.above, options.patience);
    if (address->node == nodeNumber())
      handle = greeting.greet(address->localEndpoints());
    if (handle < 0)
      handle = greeting.greet(address->endpoints());
  }
  if (handle < 0)
    return failure(StatusCode::Io, "ranks: rank ", options.rank, " cannot reach rank ",
                   options.above, " at any of its addresses",
                   address && address->port != 0 ? concat(", port ", address->port) : "");
  if (!addPeer(handle, {.rank = options.above, .isAbove = true, .greeted = true}))
    return socketFailure("cannot watch others");
  sendAll(watcher.message(Kind::Beat, now()), /*up=*/true, /*down=*/false);
  return {};
}

void Watch::startThread() {
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
    eventfd_write(wake, 1);
    thread.join();
  }
  if (!watcher.hasLeft() && !watcher.hasFailed()) {
    WatchMessage ending = watcher.message(Kind::Ending, now());
    ending.setText(reason);
    sendAll(ending, /*up=*/true, /*down=*/true);
  }
  for (const auto &[handle, peer] : peers)
    close(handle);
  for (const int handle : listeners)
    close(handle);
  for (const int handle : {events, wake, spare})
    closeFile(handle);
}

WatchCounts Watch::counts() const {
  return {.wakeUps = wakeUps,
          .turns = turns,
          .accepted = accepted,
          .refused = refused,
          .watched = watched,
          .received = received,
          .sent = sent};
}

double Watch::processorSeconds() const {
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  timespec time = {};
  pthread_getcpuclockid(const_cast<std::thread &>(thread).native_handle(), &clock);
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void Watch::setReason(std::string_view text) {
  std::lock_guard lock(mutex);
  reason = text;
}

void Watch::leave() {
  watcher.leave();
  sendAll(watcher.message(Kind::Bye, now()), /*up=*/true, /*down=*/true);
}

void Watch::work() {
  double nextTurn = now();
  while (!stopping) {
    const std::vector<int> ready = await(nextTurn - now());
    ++wakeUps;
    for (const int handle : ready)
      if (std::ranges::find(listeners, handle) != listeners.end())
        accept(handle);
      else
        receive(handle);
    // One time for all of the turn: the process may stand still within it as well.
    const double time = now();
    if (time >= nextTurn) {
      nextTurn = time + Standings::interval;
      watcher.turn(time);
      ++turns;
    }
    if (!ready.empty())
      rest(std::min(gathering, nextTurn - now()));
  }
}

/// The connections at which there is something, or none if nothing comes.
std::vector<int> Watch::await(double seconds) const {
  epoll_event found[256];
  const int count = epoll_wait(events, found, std::size(found), milliseconds(seconds));
  std::vector<int> ready;
  for (int i = 0; i < count; ++i)
    if (found[i].data.fd != wake)
      ready.push_back(found[i].data.fd);
  return ready;
}

/// Whatever else comes meanwhile is taken together.
void Watch::rest(double seconds) const {
  pollfd stop{wake, POLLIN, 0};
  if (seconds > 0)
    poll(&stop, 1, milliseconds(seconds));
}

void Watch::accept(int listener) {
  while (true) {
    const int handle =
        openFile([&] { return accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (handle >= 0) {
      ++accepted;
      if (!addPeer(handle, {}))
        return;
    } else if (errno == EMFILE || errno == ENFILE) {
      return refuse(listener);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

/// Where no file is left: who is left without an answer would wait, and the system would say again
/// and again that it does.
void Watch::refuse(int listener) {
  closeFile(spare);
  const int handle = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  refused += handle >= 0;
  closeFile(handle);
  spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/// Closes the connection if it cannot be watched.
bool Watch::addPeer(int handle, Peer peer) {
  std::lock_guard lock(mutex);
  epoll_event event = {.events = EPOLLIN, .data = {.fd = handle}};
  if (epoll_ctl(events, EPOLL_CTL_ADD, handle, &event) != 0) {
    close(handle);
    return false;
  }
  peers.emplace(handle, std::move(peer));
  return true;
}

/// Stays where it is until it is closed, which this thread alone does.
Watch::Peer *Watch::findPeer(int handle) {
  std::lock_guard lock(mutex);
  const auto found = peers.find(handle);
  return found == peers.end() ? nullptr : &found->second;
}

void Watch::closePeer(int handle) {
  std::lock_guard lock(mutex);
  // A child of the process may have the connection open too.
  epoll_ctl(events, EPOLL_CTL_DEL, handle, nullptr);
  shutdown(handle, SHUT_RDWR);
  close(handle);
  peers.erase(handle);
}

void Watch::receive(int handle) {
  std::byte bytes[16 * sizeof(WatchMessage)];
  Peer *peer = findPeer(handle);
  while (peer) {
    const ssize_t size = recv(handle, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (size <= 0) {
      // Whoever was no rank of this run is forgotten.
      const bool met = peer->met;
      const unsigned rank = peer->rank;
      closePeer(handle);
      return met ? watcher.lose(rank, now()) : void();
    }
    peer->received.insert(peer->received.end(), bytes, bytes + size);
    while (peer->received.size() >= sizeof(WatchMessage)) {
      WatchMessage message;
      std::memcpy(&message, peer->received.data(), sizeof(message));
      peer->received.erase(peer->received.begin(), peer->received.begin() + sizeof(message));
      ++received;
      if (!this->handle(handle, *peer, message))
        return closePeer(handle);
    }
    if (static_cast<size_t>(size) < sizeof(bytes))
      return;
  }
}

/// False if it comes from no rank of this run. Of several connections on which a rank says hello it
/// keeps one, and says more there: only then it is watched.
bool Watch::handle(int handle, Peer &peer, const WatchMessage &message) {
  if (message.token != (peer.isAbove ? tokenAbove : token) || message.own.rank >= options.ranks)
    return false;
  if (message.kind == Kind::Hello) {
    if (peer.greeted)
      return false;
    std::lock_guard lock(mutex);
    peer.rank = message.own.rank;
    peer.greeted = true;
    send(handle, peer, watcher.message(Kind::Welcome, now()));
    return true;
  }
  if (!peer.greeted || message.own.rank != peer.rank)
    return false;
  if (!peer.met) {
    if (watcher.knows(peer.rank))
      return false;
    peer.met = true;
    watched += !peer.isAbove;
    watcher.meet(peer.rank, now());
  }
  watcher.hear(peer.rank, message, now());
  return true;
}

/// To a peer that takes nothing more, nothing is sent: its silence will be noticed. Of what it has
/// taken in part the rest comes first.
void Watch::send(int handle, Peer &peer, WatchMessage message) {
  constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (!peer.unsent.empty()) {
    const ssize_t size = ::send(handle, peer.unsent.data(), peer.unsent.size(), flags);
    if (size > 0)
      peer.unsent.erase(peer.unsent.begin(), peer.unsent.begin() + size);
    if (!peer.unsent.empty())
      return;
  }
  message.token = peer.isAbove ? tokenAbove : token;
  ++sent;
  const ssize_t size = ::send(handle, &message, sizeof(message), flags);
  const auto *bytes = reinterpret_cast<const std::byte *>(&message);
  if (size > 0)
    peer.unsent.assign(bytes + size, bytes + sizeof(message));
}

void Watch::sendAll(const WatchMessage &message, bool up, bool down) {
  std::lock_guard lock(mutex);
  for (auto &[handle, peer] : peers)
    if (peer.greeted && (peer.isAbove ? up : down))
      send(handle, peer, message);
}

} // namespace dlc::runtime
