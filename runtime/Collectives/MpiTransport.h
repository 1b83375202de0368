// The transport over MPI. Part of libdlc_mpi.so.
//
// One thread makes all calls of MPI: it starts what is asked of it as non-blocking collectives and
// tests them, with pauses, because Open MPI's own waits take a whole core. Each channel has a
// communicator of its own, so that its collectives are matched among themselves.
//
// MPI is either the transport's, which initialises and finalises it, or the program's, which hands
// over a communicator and goes on to use MPI. Then the thread calls it only while a collective is
// started that has not ended, and after a failure no more, so that a program that waits for its
// collectives may have MPI_THREAD_SERIALIZED.
#ifndef DLC_RUNTIME_COLLECTIVES_MPITRANSPORT_H
#define DLC_RUNTIME_COLLECTIVES_MPITRANSPORT_H

#include "runtime/Collectives/Transport.h"
#include "runtime/Collectives/Watch.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mpi.h>
#include <mutex>
#include <optional>
#include <thread>
#include <time.h>

namespace dlc::runtime {

class MpiTransport : public Transport {
public:
  static Result<std::shared_ptr<Transport>> open(const TransportOptions &options);
  ~MpiTransport() override;

  std::string_view name() const override { return "mpi"; }
  unsigned rank() const override { return ownRank; }
  unsigned ranks() const override { return rankCount; }
  Result<Ticket> start(const Collective &collective) override;
  Status wait(Ticket ticket) override;
  Status health() const override;
  void countStarts(unsigned count) override;
  Status leave() override;
  double processorSeconds() const override;
  void setStep(uint64_t step) override;
  void showPhase(Phase phase) override;
  void setReason(std::string_view reason) override;

private:
  void beginWait() override { watch->beginWait(); }
  void endWait() override { watch->endWait(); }
  struct Operation {
    Collective collective;
    /// Elements that are done or under way. MPI counts in int, so a large one goes in several
    /// pieces.
    uint64_t issued = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    /// What is under way of the buffer, and the copy of it that MPI works on, if it does.
    std::span<std::byte> piece = {};
    std::unique_ptr<std::byte[]> copy = {};
    bool done = false;
  };

  explicit MpiTransport(const TransportOptions &options) : options(options) {}
  Status examineCommunicator();
  Status startWatch();
  void work(std::promise<Status> &ready);
  Status initialise();
  Status initialiseMpi();
  Status join();
  Status await(MPI_Request request);
  void finalise();
  void letSumsBeChosen();
  void chooseSum(uint64_t bytes);
  Status issue(Operation &operation);
  Status test(Operation &operation, bool &complete);
  bool progress(std::unique_lock<std::mutex> &lock);
  void fail(const Status &reason);
  Status failureOf() const;
  /// Seconds for which this rank waits for `all` to start: one more for each 16 of them.
  std::chrono::duration<double> startPatience(unsigned all) const {
    return std::chrono::duration<double>(2 * options.timeout + all / 16);
  }
  /// Those for which it waits for others. A watch knows more of what has happened, so it has the
  /// first word where there is one.
  std::chrono::duration<double> patience() const {
    return starting
               ? startPatience(rankCount) + std::chrono::seconds(connectSeconds)
               : std::chrono::duration<double>((2 + Standings::workPatience) * options.timeout);
  }

  TransportOptions options;
  unsigned ownRank = 0, rankCount = 1;
  /// One for each channel.
  std::unique_ptr<MPI_Comm[]> channels = std::make_unique<MPI_Comm[]>(channelCount);
  MPI_Op sumBf16 = MPI_OP_NULL, sumF16 = MPI_OP_NULL;
  /// How Open MPI sums, where that may be chosen for each sum.
  MPI_T_cvar_handle sumAlgorithm = MPI_T_CVAR_HANDLE_NULL;

  mutable std::mutex mutex;
  /// There is something to do for the thread; something is done for those who wait.
  std::condition_variable wanted, changed;
  /// Those that were started and that not all of have ended; the first has number `firstTicket`.
  std::deque<Operation> operations;
  Ticket firstTicket = 1;
  unsigned waiting = 0;
  std::optional<std::string> failed;
  /// The thread may be in MPI, or at an operation's buffer.
  bool calling = false;
  bool stopping = false, left = false;
  /// The ranks do not watch each other yet, and take this time at most to connect.
  bool starting = true;
  static constexpr unsigned connectSeconds = 10;
  std::thread thread;
  /// What the thread has taken; any reader of it knows that initialise() has ended.
  clockid_t processorClock = CLOCK_THREAD_CPUTIME_ID;
  /// Null where there could be none.
  std::unique_ptr<Watch> watch;
};

} // namespace dlc::runtime

#endif
