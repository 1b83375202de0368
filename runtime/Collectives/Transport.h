// What the ranks of a run do together: several processes that train one model, each with a replica
// of its own.
//
// All ranks start the same collectives of a channel in the same order; collectives of different
// channels may overtake each other. A collective runs beside its caller from start() on, until
// wait() has returned.
//
// Ownership: a transport belongs to the devices that joined it. A buffer stays the caller's and
// must live, untouched, until wait() of its ticket has returned, with success or without; after a
// failure no transport touches it any more. Threads: start() and wait() may be called by any
// thread. Failure: a rank that ends or stands still ends the run: every wait from then on fails
// with code Failed, and says who and why. Nothing can be started after that.
#ifndef DLC_RUNTIME_COLLECTIVES_TRANSPORT_H
#define DLC_RUNTIME_COLLECTIVES_TRANSPORT_H

#include "dlc/abi.h"
#include "dlc/log.h"
#include "dlc/status.h"
#include "runtime/Collectives/Phase.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::runtime {

/// What the host's own collectives run on, beside the channels of plans.
inline constexpr uint32_t controlChannel = DLC_CHANNELS;
inline constexpr uint32_t channelCount = DLC_CHANNELS + 1;

/// One collective, over a buffer in host memory.
struct Collective {
  enum class Kind : uint8_t {
    /// Each element becomes the sum over the ranks: the same bits on all of them.
    Sum,
    /// Becomes what rank 0 has.
    Broadcast,
    /// `ranks` pieces of equal size; piece r becomes that of rank r.
    Gather,
    /// The same on rank 0 alone; others have one piece, their own.
    Collect,
    /// Rank 0 has `ranks` pieces of equal size, others one: it becomes that of their number.
    Distribute,
  };
  Kind kind;
  uint32_t channel;
  /// Of a sum: f32, f64, bf16 or f16; these two round after each addition. Of others: DLC_U8.
  dlc_dtype dtype;
  std::span<std::byte> buffer;

  /// Of how many ranks a buffer of rank number `rank` has pieces.
  uint64_t piecesOf(unsigned rank, unsigned ranks) const;
  /// If set, hears by the time wait() has returned when the collective began and ended, in
  /// steadyNanoseconds().
  struct Times {
    int64_t begin, end;
  } *times = nullptr;
  /// Who waits for it leaves the processors to others, as if it had work of its own.
  bool unhurried = false;
};

class Transport {
public:
  /// Numbers collectives in the order in which they were started.
  using Ticket = uint64_t;

  virtual ~Transport() = default;
  /// "self", "mpi"
  virtual std::string_view name() const = 0;
  /// This process, and how many there are.
  virtual unsigned rank() const = 0;
  virtual unsigned ranks() const = 0;

  virtual Result<Ticket> start(const Collective &collective) = 0;
  virtual Status wait(Ticket ticket) = 0;
  /// The failure that ends every wait, if there has been one: for who waits for something else.
  virtual Status health() const { return {}; }
  /// Ends a run that went well: returns when all ranks have come here. Without it the others take
  /// the end of this process for a failure.
  virtual Status leave() = 0;
  /// Seconds of a processor that the transport's own threads have taken.
  virtual double processorSeconds() const { return 0; }
  /// Says how far this rank is, for messages of others.
  virtual void setStep([[maybe_unused]] uint64_t step) {}
  /// Says what this rank is at: where others have to wait for it, for how long they do. Returns
  /// what it was at before. PhaseScope says it of a block.
  Phase setPhase(Phase next);
  /// Says why this process is about to end, for messages of others.
  virtual void setReason([[maybe_unused]] std::string_view reason) {}

  /// Whether this rank adds zeros to the sums of plans, and leaves their residuals as they are: it
  /// has nothing to add (RecordSum). Set by the thread that starts them.
  bool addsNothing() const { return nothing; }
  void setAddsNothing(bool adds) { nothing = adds; }

  // For collectives that the ranks have beside the transport, such as NCCL's: so that who keeps the
  // others waiting is named.

  /// This rank starts so many of them.
  virtual void countStarts([[maybe_unused]] unsigned count) {}
  /// Returns when `isDone`, which is asked over and over, or when it or health() has failed.
  Status waitUntil(const std::function<Result<bool>()> &isDone);

  // In terms of start() and wait(), on the control channel.

  Status run(const Collective &collective);
  /// Adds numbers up over the ranks.
  Status sum(std::span<double> numbers);
  /// Gives all ranks what rank 0 has.
  Status broadcast(std::span<std::byte> bytes);
  Status broadcast(std::string &text);
  /// The texts of all ranks.
  Result<std::vector<std::string>> gather(std::string_view mine);
  /// What all ranks have, by rank, to rank 0, in pieces; others get nothing. All have as many
  /// bytes.
  Result<std::vector<std::string>> collect(std::span<const std::byte> mine);
  /// The way back: `all` is that of rank 0, the others' is not looked at.
  Status distribute(const std::vector<std::string> &all, std::span<std::byte> mine);
  /// Whether all ranks have the bytes that rank 0 has. As cheap for thousands of ranks as for two.
  Result<bool> isSame(std::span<const std::byte> mine);

private:
  /// Between these two this rank does nothing but wait for others in waitUntil().
  virtual void beginWait() {}
  virtual void endWait() {}
  virtual void showPhase([[maybe_unused]] Phase phase) {}

  bool nothing = false;
  std::atomic<Phase> phase = Phase::Start;
};

/// What a rank is at while this lives; behind it that is what it was before.
class PhaseScope {
public:
  PhaseScope(Transport &ranks, Phase phase) : ranks(ranks), before(ranks.setPhase(phase)) {}
  PhaseScope(const PhaseScope &) = delete;
  PhaseScope &operator=(const PhaseScope &) = delete;
  ~PhaseScope() { ranks.setPhase(before); }

private:
  Transport &ranks;
  const Phase before;
};

/// One rank: nothing to do.
std::shared_ptr<Transport> selfTransport();

/// A variable of this process's environment; null if it is not set.
const char *environmentOf(const char *name);

/// What a starter such as mpirun has put into the environment: how many processes it started, 0 if
/// this process was started by none. `getEnvironment` reads a variable as environmentOf().
struct Launched {
  unsigned ranks = 0;
  /// "mpirun", "srun", "a PMI starter"
  std::string_view by;
};
/// The number among the processes of this machine that the starter gave to this one; 0 without one.
unsigned localRank(const char *(*getEnvironment)(const char *name) = environmentOf);
Launched launchedBy(const char *(*getEnvironment)(const char *name) = environmentOf);

struct TransportOptions {
  /// Seconds for which a collective may wait for a rank that computes before the run ends; for one
  /// at known work (Phase.h) it is Standings::workPatience times that.
  double timeout = 30;
  /// MPI_Comm_c2f() of a communicator of the program's own, whose processes are the ranks
  /// (dlc/ranks.h). None: those that this process was started among.
  std::optional<int> communicator = {};
  /// Hears warnings, on a thread of the transport's. Null: nobody.
  Log log = {};
};

/// The ranks of the communicator, or those that this process was started among: `self` where it was
/// started alone, else MPI through libdlc_mpi.so, which is looked for as libdlc_cuda.so is. Fails
/// with Unsupported, in one line, if the library or MPI is missing, if MPI knows of other ranks
/// than the starter, or if the program has not initialised MPI as a communicator needs it.
Result<std::shared_ptr<Transport>> openTransport(const TransportOptions &options = {});

} // namespace dlc::runtime

#endif
