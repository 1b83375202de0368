// Notices that a rank has died or stands still, and tells all others why.
//
// MPI does not: a collective waits for ever for a rank that is gone. So each process has a
// connection to rank 0 beside MPI. A process that ends, however it ends, closes it; one that is
// stopped falls silent; one that does not come to a collective reports fewer of them than those
// that wait; where all wait the network stands still. Rank 0 tells the others.
//
// Ownership: owns its thread and connections. Threads: its functions may be called by any thread.
// Failure: said once, to onFailure, on the watch's thread.
#ifndef DLC_RUNTIME_COLLECTIVES_WATCH_H
#define DLC_RUNTIME_COLLECTIVES_WATCH_H

#include "dlc/status.h"
#include "runtime/Collectives/Standings.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dlc::runtime {

struct WatchOptions {
  unsigned rank = 0, ranks = 1;
  /// Seconds until who is silent, or lets others wait, counts as failed: see Standings.
  double timeout = 30;
  std::function<void(const Status &reason)> onFailure = {};
  /// Rank 0, and rank 1 where rank 0 is silent.
  std::function<void(std::string_view line)> onWarning = {};
};

class Watch {
public:
  /// What rank 0 opens before the others come. Its address is a text for connect().
  static Result<std::unique_ptr<Watch>> listen(WatchOptions options);
  /// Any other rank. Fails if none of rank 0's addresses can be reached within the timeout.
  static Result<std::unique_ptr<Watch>> connect(WatchOptions options, std::string_view address);
  ~Watch();

  const std::string &address() const { return listening; }

  void setStep(uint64_t number) { standings.setStep(number); }
  /// One more collective was started.
  void countStart() { standings.countStart(); }
  /// Between these two this rank does nothing but wait for a collective, for `already` seconds when
  /// it says so.
  void beginWait(double already = 0) { standings.beginWait(now() - already); }
  void endWait() { standings.endWait(); }
  /// Why this process is about to end, if it is.
  void setReason(std::string_view text);
  /// From now on the end of this process is none of a failure, nor is that of others.
  void leave();

private:
  /// What goes over a connection: always all of it, hosts have one byte order.
  struct Message {
    enum class Kind : uint32_t { Hello, Beat, Failed, Bye };
    uint64_t token;
    Kind kind;
    uint32_t rank;
    /// Failed, from rank 0: 1 if `text` is what has happened, 0 if it is why rank 0 ends.
    uint32_t verdict, reserved;
    uint64_t step, started;
    double waited;
    char text[256];
  };

  struct Peer {
    unsigned rank = 0;
    int socket = -1;
    std::vector<std::byte> received;
    bool welcome = false, gone = false;
  };

  explicit Watch(WatchOptions options);
  static double now();
  Message message(Message::Kind kind) { return message(kind, now()); }
  Message message(Message::Kind kind, double now);
  int greet(const std::string &address, uint16_t port);
  void startThread();
  void work();
  void accept();
  void receive(Peer &peer);
  void handle(Peer &peer, const Message &message);
  void lose(Peer &peer);
  void closePeer(Peer &peer);
  void judge(double now);
  void fail(unsigned rank, uint64_t atStep, std::string_view what);
  void fail(const std::string &text);
  void report(std::string_view text);
  void sendAll(const Message &message);

  WatchOptions options;
  std::string listening;
  uint64_t token = 0;
  int listener = -1, wake[2] = {-1, -1};
  /// Of rank 0: the connections it has; of others: the one to rank 0.
  std::vector<std::unique_ptr<Peer>> peers;
  Standings standings;
  std::atomic<bool> leaving = false, stopping = false;
  bool failed = false;
  /// Guards what is sent, and these.
  std::mutex mutex;
  std::string reason;
  std::thread thread;
};

} // namespace dlc::runtime

#endif
