// Notices that a rank has died or stands still, and tells all others why.
//
// MPI does not: a collective waits for ever for a rank that is gone. So each process has a
// connection beside MPI to the one that watches it (WatchTree.h), on the same machine a local one.
// A process that ends, however it ends, closes it; one that is stopped falls silent; one that does
// not come to a collective reports fewer of them than those that wait; where all wait the network
// stands still. What follows from that is Watcher's and Standings' to say: here are connections and
// the clock.
//
// Ownership: owns its thread and connections. Threads: its functions may be called by any thread.
// Failure: said once, to onFailure, on the watch's thread.
#ifndef DLC_RUNTIME_COLLECTIVES_WATCH_H
#define DLC_RUNTIME_COLLECTIVES_WATCH_H

#include "dlc/status.h"
#include "runtime/Collectives/Watcher.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
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
  /// Rank 0, and where rank 0 is silent one that it watches.
  std::function<void(std::string_view line)> onWarning = {};
  /// Who watches this rank.
  unsigned above = 0;
  /// Who warns where rank 0 is silent.
  unsigned warner = 1;
  /// Seconds for which a rank tries to connect.
  double patience = 10;
};

/// What a watch has done so far.
struct WatchCounts {
  uint64_t wakeUps = 0, turns = 0;
  /// Connections that came, those that no file was left for, and ranks that were found on them.
  uint64_t accepted = 0, refused = 0, watched = 0;
  /// Messages.
  uint64_t received = 0, sent = 0;
};

class Watch {
public:
  /// What a rank opens that watches others, before they come. Its address is a text for connect():
  /// where `locally`, of its own machine.
  static Result<std::unique_ptr<Watch>> listen(WatchOptions options, bool locally = false);
  /// A rank that watches none. As join().
  static Result<std::unique_ptr<Watch>> connect(WatchOptions options, std::string_view address);
  /// Connects to the one that watches this rank. Fails with Io if it answers at none of its
  /// addresses.
  Status join(std::string_view address);
  ~Watch();

  const std::string &address() const { return listening; }
  WatchCounts counts() const;
  /// Seconds of a processor that the watch's thread has taken.
  double processorSeconds() const;

  void setStep(uint64_t number) { watcher.own().setStep(number); }
  void setPhase(Phase phase) { watcher.own().setPhase(phase, now()); }
  /// One more collective was started.
  void countStart() { watcher.own().countStart(); }
  /// Between these two this rank does nothing but wait for a collective, for `already` seconds when
  /// it says so.
  void beginWait(double already = 0) { watcher.own().beginWait(now() - already); }
  void endWait() { watcher.own().endWait(); }
  /// Why this process is about to end, if it is.
  void setReason(std::string_view text);
  /// From now on the end of this process is none of a failure, nor is that of others.
  void leave();

private:
  struct Peer {
    unsigned rank = 0;
    std::vector<std::byte> received = {}, unsent = {};
    /// Watches this one; is known to be a rank; has answered to that, and is watched since then.
    bool isAbove = false, greeted = false, met = false;
  };
  explicit Watch(WatchOptions options);
  static double now();
  Status prepare();
  std::string listenLocally();
  uint16_t listenForAll();
  void startThread();
  void work();
  std::vector<int> await(double seconds) const;
  void rest(double seconds) const;
  void accept(int listener);
  void refuse(int listener);
  bool addPeer(int handle, Peer peer);
  Peer *findPeer(int handle);
  void closePeer(int handle);
  void receive(int handle);
  bool handle(int handle, Peer &peer, const WatchMessage &message);
  void send(int handle, Peer &peer, WatchMessage message);
  void sendAll(const WatchMessage &message, bool up, bool down);

  WatchOptions options;
  Watcher watcher;
  std::string listening;
  /// Of those who connect to this one; of the one above.
  uint64_t token = 0, tokenAbove = 0;
  std::vector<int> listeners;
  int events = -1, wake = -1;
  /// A file that is given up where none is left, for as long as it takes to refuse a connection.
  int spare = -1;
  std::atomic<bool> stopping = false;
  /// Guards what is sent, and these.
  mutable std::mutex mutex;
  std::map<int, Peer> peers;
  std::string reason;
  std::atomic<uint64_t> wakeUps = 0, turns = 0, accepted = 0, refused = 0, watched = 0;
  std::atomic<uint64_t> received = 0, sent = 0;
  std::thread thread;
};

} // namespace dlc::runtime

#endif
