// The progress thread, and what others ask of it.
#include "runtime/Collectives/MpiTransport.h"
#include "dlc/timeline.h"
#include "runtime/Collectives/RankProcesses.h"
#include "runtime/Collectives/WatchAddress.h"
#include "runtime/Collectives/WatchRanks.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Core/Thread.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <future>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dlc::runtime {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Elements of one call of MPI.
constexpr uint64_t pieceElements = uint64_t(1) << 24;
/// Of a copy, which then stays in caches.
constexpr uint64_t copiedBytes = uint64_t(2) << 20;
/// A sum of so many bytes takes as long as its messages have to wait for each other, not as long as
/// its bytes.
constexpr uint64_t smallSum = 16 << 10;
/// Of a rank's piece of a gather, which goes in one call.
constexpr uint64_t gatheredBytes = uint64_t(1) << 30;

/// MPI is one for the process, and several transports of a program may be at work: with
/// MPI_THREAD_SERIALIZED they take turns.
std::mutex turns;

Status checkMpi(int code, std::string_view what) {
  if (code == MPI_SUCCESS)
    return {};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return failure(StatusCode::Failed, "MPI: ", what, ": ", std::string_view(text, length));
}

/// MPI knows no floats of 16 bits.
template <dlc_dtype dtype> void addHalves(void *from, void *to, int *count, MPI_Datatype *) {
  addElements(dtype, static_cast<const std::byte *>(from), static_cast<std::byte *>(to),
              static_cast<uint64_t>(*count));
}

MPI_Datatype typeOf(dlc_dtype dtype) {
  switch (dtype) {
  case DLC_F32:
    return MPI_FLOAT;
  case DLC_F64:
    return MPI_DOUBLE;
  case DLC_BF16:
  case DLC_F16:
    return MPI_UINT16_T;
  default:
    return MPI_BYTE;
  }
}

/// What can be said of ranks that have not come, where mpirun started this one.
std::string missingRanks() {
  const auto number = [](const char *variable) {
    const char *text = std::getenv(variable);
    return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 0;
  };
  const unsigned ranks = number("OMPI_COMM_WORLD_SIZE");
  return describeMissing(findRankProcesses(), number("OMPI_COMM_WORLD_RANK"), ranks,
                         /*allAreHere=*/number("OMPI_COMM_WORLD_LOCAL_SIZE") == ranks);
}

/// Whether MPI is as the options need it. Calls nothing but what any thread may call at any time.
Status examineMpi(const TransportOptions &options) {
#ifdef OPEN_MPI
  // Where the program has linked another MPI, that one's functions are found first. The text may be
  // longer than Open MPI's own limit.
  char text[8192] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string_view found(text);
  if (!found.starts_with("Open MPI"))
    return unsupported("MPI: libdlc_mpi.so was built with Open MPI, and the program has ",
                       found.substr(0, found.find_first_of(":\n")));
#endif
  int initialised = 0, finalised = 0, level = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  if (finalised)
    return unsupported("MPI: was finalised, and cannot be used again by this process");
  if (!options.communicator)
    return initialised ? unsupported("MPI: is initialised already; ranks are then those of a "
                                     "communicator that is handed over")
                       : Status();
  if (!initialised)
    return unsupported("MPI: is not initialised; MPI_Init_thread() with MPI_THREAD_SERIALIZED or "
                       "more comes before a communicator is handed over");
  MPI_Query_thread(&level);
  if (level < MPI_THREAD_SERIALIZED)
    return unsupported("MPI: is initialised with ",
                       level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED",
                       "; a communicator needs MPI_THREAD_SERIALIZED or more, as a thread of the "
                       "library's calls MPI");
  return {};
}

/// Where kernels keep all processors busy, a thread that wakes up waits until the turn of one of
/// theirs is over, several milliseconds. From Linux 6.12 on one that asks for shorter turns than
/// theirs gets the processor at once; others do not heed it.
void askForShortTurns() {
  // sched_attr as it was first published; linux/sched/types.h and sched.h exclude each other.
  struct {
    uint32_t size = 0, policy = 0;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = 0, deadline = 0, period = 0;
  } wanted = {.size = sizeof(wanted), .policy = SCHED_OTHER, .runtime = 100'000};
  syscall(SYS_sched_setattr, 0, &wanted, 0);
}

} // namespace

Result<std::shared_ptr<Transport>> MpiTransport::open(const TransportOptions &options) {
  return guarded([&]() -> Result<std::shared_ptr<Transport>> {
    DLC_TRY(examineMpi(options));
    std::shared_ptr<MpiTransport> transport(new MpiTransport(options));
    if (options.communicator) {
      DLC_TRY(transport->examineCommunicator());
      if (transport->rankCount == 1)
        return selfTransport();
    }
    auto ready = std::make_shared<std::promise<Status>>();
    std::future<Status> started = ready->get_future();
    transport->thread =
        startThread([transport = transport.get(), ready] { transport->work(*ready); });
    // A machine's ranks give up one after the other: the first says that some are missing, and
    // mpirun ends the others before it is their turn.
    const auto turn = 2s * localRank();
    const auto patience = transport->startPatience(launchedBy().ranks);
    if (!options.communicator && started.wait_for(patience + turn) != std::future_status::ready) {
      // Nothing calls the thread back from MPI, so it is left there with what it works on.
      transport->thread.detach();
      new std::shared_ptr<MpiTransport>(transport);
      return failure(StatusCode::Failed, "MPI: not all ranks have started within ",
                     patience.count(), " s", missingRanks());
    }
    DLC_TRY(started.get());
    DLC_TRY(transport->startWatch());
    return std::shared_ptr<Transport>(std::move(transport));
  });
}

/// This process and the others of the program's communicator.
Status MpiTransport::examineCommunicator() {
  std::lock_guard turn(turns);
  const MPI_Comm given = MPI_Comm_f2c(*options.communicator);
  // MPI would end the program.
  if (!given || given == MPI_COMM_NULL)
    return unsupported("MPI: ", *options.communicator,
                       given ? " is MPI_COMM_NULL" : " is no communicator",
                       "; expected what MPI_Comm_c2f() gives for one");
  int between = 0, rank = 0, size = 0;
  DLC_TRY(checkMpi(MPI_Comm_test_inter(given, &between), "asking for the communicator"));
  if (between)
    return unsupported("MPI: the communicator is one between two groups; expected one of one");
  DLC_TRY(checkMpi(MPI_Comm_rank(given, &rank), "asking for the rank"));
  DLC_TRY(checkMpi(MPI_Comm_size(given, &size), "asking for the ranks"));
  ownRank = static_cast<unsigned>(rank);
  rankCount = static_cast<unsigned>(size);
  return {};
}

/// All are done with starting MPI, and not with what comes before the first step.
Status MpiTransport::startWatch() {
  WatchOptions watching{.timeout = options.timeout};
  watching.patience = connectSeconds;
  watching.onFailure = [this](const Status &reason) { fail(reason); };
  if (options.log)
    watching.onWarning = [this](std::string_view line) { options.log(Severity::Warning, line); };
  DLC_TRY_ASSIGN(made, watchRanks(*this, std::move(watching), nodeNumber()));
  watch = std::move(made);
  showPhase(Phase::Start);
  std::lock_guard lock(mutex);
  starting = false;
  return {};
}

void MpiTransport::setStep(uint64_t step) {
  if (watch)
    watch->setStep(step);
}

void MpiTransport::showPhase(Phase phase) {
  if (watch)
    watch->setPhase(phase);
}

void MpiTransport::setReason(std::string_view reason) {
  if (watch)
    watch->setReason(reason);
}

MpiTransport::~MpiTransport() {
  // First, so that nobody hears of a failure any more.
  watch.reset();
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wanted.notify_all();
  if (thread.joinable())
    thread.join();
  // The program's calls bring on what is under way, so the copies stay.
  for (Operation &operation : operations)
    if (operation.request != MPI_REQUEST_NULL)
      (void)operation.copy.release();
}

/// Whether MPI is given all of it at once.
static bool isOfPieces(const Collective &c) {
  return c.kind != Collective::Kind::Sum && c.kind != Collective::Kind::Broadcast;
}

Status MpiTransport::failureOf() const { return Status(StatusCode::Failed, *failed); }

void MpiTransport::fail(const Status &reason) {
  {
    std::lock_guard lock(mutex);
    if (!failed)
      failed = reason.message();
  }
  changed.notify_all();
}

Result<Transport::Ticket> MpiTransport::start(const Collective &collective) {
  return guarded([&]() -> Result<Ticket> {
    if (collective.channel >= channelCount)
      return invalid("channel ", collective.channel, " of ", channelCount);
    const uint64_t pieces = collective.piecesOf(rank(), rankCount);
    if (collective.buffer.size() % pieces != 0)
      return invalid(collective.buffer.size(), " bytes are no pieces for ", pieces, " ranks");
    if (isOfPieces(collective) && collective.buffer.size() / pieces > gatheredBytes)
      return invalid(collective.buffer.size(), " bytes are too many to gather");
    int finalised = 0;
    if (options.communicator)
      MPI_Finalized(&finalised);
    if (finalised)
      return failure(StatusCode::Failed, "MPI: was finalised before the ranks have left");
    Ticket ticket;
    {
      std::lock_guard lock(mutex);
      if (failed)
        return failureOf();
      if (left)
        return failure(StatusCode::Failed, "the ranks have left each other");
      operations.push_back({.collective = collective});
      ticket = firstTicket + operations.size() - 1;
    }
    if (watch)
      watch->countStart();
    wanted.notify_one();
    return ticket;
  });
}

Status MpiTransport::wait(Ticket ticket) {
  return guarded([&]() -> Status {
    std::unique_lock lock(mutex);
    auto done = [&] { return ticket < firstTicket || operations[ticket - firstTicket].done; };
    if (done())
      return {};
    const bool hurried = !operations[ticket - firstTicket].collective.unhurried;
    waiting += hurried;
    if (watch)
      watch->beginWait();
    const bool inTime = changed.wait_for(lock, patience(), [&] { return failed || done(); });
    if (watch)
      watch->endWait();
    waiting -= hurried;
    if (done())
      return {};
    if (!inTime && !failed)
      failed = starting
                   ? concat("not all ranks have started to watch each other within ",
                            patience().count(), " s", missingRanks())
                   : concat("the ranks have waited for each other for ", patience().count(), " s");
    // From here on MPI and the buffers are the caller's.
    changed.wait_for(lock, startPatience(rankCount), [&] { return !calling; });
    return failureOf();
  });
}

Status MpiTransport::health() const {
  std::lock_guard lock(mutex);
  return failed ? failureOf() : Status();
}

void MpiTransport::countStarts(unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    watch->countStart();
}

Status MpiTransport::leave() {
  {
    std::lock_guard lock(mutex);
    if (left)
      return {};
  }
  // A sum ends when all have come.
  double here = 1;
  DLC_TRY(sum(std::span(&here, 1)));
  if (watch)
    watch->leave();
  {
    std::lock_guard lock(mutex);
    left = true;
    stopping = options.communicator.has_value();
  }
  // The program may finalise its MPI from here on, however long this lives.
  if (options.communicator) {
    wanted.notify_all();
    thread.join();
  }
  return {};
}

double MpiTransport::processorSeconds() const {
  timespec time = {};
  clock_gettime(processorClock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9 +
         (watch ? watch->processorSeconds() : 0);
}

/// Open MPI's parameter, and the values of it that are used.
constexpr const char *sumParameter = "coll_libnbc_iallreduce_algorithm";
enum SumAlgorithm { ScatterAndGather = 3, RecursiveDoubling = 4 };

/// Open MPI sums in place up a binomial tree and down again, all bytes on each branch, unless asked
/// for another way: to scatter the sum and gather it, 2 log p messages one behind the other, or to
/// exchange all bytes log p times. Who has set one in the environment gets that; another MPI
/// chooses for itself.
///
/// Only where MPI is the transport's own. The parameter is the process's: where a program sums on
/// another thread meanwhile, some of its ranks would go one way and some the other. And MPI_T takes
/// 0.2 s to begin, and in Open MPI changes the thread level that MPI itself has.
void MpiTransport::letSumsBeChosen() {
  if (std::getenv(concat("OMPI_MCA_", sumParameter).c_str()))
    return;
  int provided = 0, index = 0, values = 0;
  if (MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return;
  MPI_T_cvar_handle handle;
  if (MPI_T_cvar_get_index(sumParameter, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &values) == MPI_SUCCESS)
    sumAlgorithm = handle;
  else
    MPI_T_finalize();
}

/// All ranks must choose alike. MPI heeds it as a sum is issued.
void MpiTransport::chooseSum(uint64_t bytes) {
  const int algorithm = bytes <= smallSum ? RecursiveDoubling : ScatterAndGather;
  if (sumAlgorithm != MPI_T_CVAR_HANDLE_NULL)
    MPI_T_cvar_write(sumAlgorithm, &algorithm);
}

Status MpiTransport::initialise() {
  DLC_TRY(options.communicator ? join() : initialiseMpi());
  pthread_getcpuclockid(pthread_self(), &processorClock);
  std::lock_guard turn(turns);
  constexpr int commutes = 1;
  DLC_TRY(checkMpi(MPI_Op_create(addHalves<DLC_BF16>, commutes, &sumBf16), "making a sum"));
  return checkMpi(MPI_Op_create(addHalves<DLC_F16>, commutes, &sumF16), "making a sum");
}

Status MpiTransport::initialiseMpi() {
  // Open MPI opens parts of itself that expect its symbols to be there for all.
  dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  int provided = 0, rank = 0, size = 0;
  DLC_TRY(checkMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "starting"));
  if (provided < MPI_THREAD_FUNNELED)
    return unsupported("MPI: cannot be called from a thread of its own");
  DLC_TRY(checkMpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "asking for the rank"));
  DLC_TRY(checkMpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "asking for the ranks"));
  letSumsBeChosen();
  ownRank = static_cast<unsigned>(rank);
  rankCount = static_cast<unsigned>(size);
  for (MPI_Comm &channel : std::span(channels.get(), channelCount)) {
    DLC_TRY(checkMpi(MPI_Comm_dup(MPI_COMM_WORLD, &channel), "making a channel"));
    MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN);
  }
  return {};
}

/// Makes the channels, each from the one before it. All have come first: while Open MPI makes a
/// communicator that a process stays away from, the program could make no other.
Status MpiTransport::join() {
  MPI_Comm from = MPI_Comm_f2c(*options.communicator);
  MPI_Request request = MPI_REQUEST_NULL;
  auto ask = [&](const auto &call) {
    std::lock_guard turn(turns);
    return checkMpi(call(), "making a channel");
  };
  DLC_TRY(ask([&] { return MPI_Ibarrier(from, &request); }));
  DLC_TRY(await(request));
  for (MPI_Comm &channel : std::span(channels.get(), channelCount)) {
    DLC_TRY(ask([&] { return MPI_Comm_idup(from, &channel, &request); }));
    if (Status status = await(request); !status.ok()) {
      // MPI may write to it yet.
      (void)channels.release();
      return status;
    }
    DLC_TRY(ask([&] { return MPI_Comm_set_errhandler(channel, MPI_ERRORS_RETURN); }));
    from = channel;
  }
  return {};
}

/// Waits for what all processes of the communicator come to.
Status MpiTransport::await(MPI_Request request) {
  const auto patience = startPatience(rankCount);
  const Clock::time_point end = Clock::now() + std::chrono::ceil<Clock::duration>(patience);
  for (int complete = 0; true; std::this_thread::sleep_for(50us)) {
    const bool isLast = Clock::now() >= end;
    {
      std::lock_guard turn(turns);
      DLC_TRY(checkMpi(MPI_Test(&request, &complete, MPI_STATUS_IGNORE), "waiting"));
    }
    if (complete)
      return {};
    if (isLast)
      return failure(StatusCode::Failed, "MPI: not all ", rankCount,
                     " processes of the communicator have come within ", patience.count(), " s");
  }
}

/// Waits for all ranks, so it is left out where one has failed: MPI's starter ends the others.
void MpiTransport::finalise() {
  std::lock_guard turn(turns);
  if (sumAlgorithm != MPI_T_CVAR_HANDLE_NULL) {
    MPI_T_cvar_handle_free(&sumAlgorithm);
    MPI_T_finalize();
  }
  for (MPI_Op *op : {&sumBf16, &sumF16})
    MPI_Op_free(op);
  for (MPI_Comm &channel : std::span(channels.get(), channelCount))
    MPI_Comm_free(&channel);
  if (!options.communicator)
    MPI_Finalize();
}

/// Asks MPI for the next piece.
///
/// What is under way when ranks fail cannot be taken back, and the calls of a program that goes on
/// bring it on, into memory that is no longer the transport's. So in a program's own MPI it is a
/// copy. Open MPI sums in place up and down its tree there; of others, from four ranks on, it
/// scatters and gathers large ones.
Status MpiTransport::issue(Operation &operation) {
  const Collective &c = operation.collective;
  const MPI_Comm channel = channels[c.channel];
  const uint64_t size = dtypeSize(c.dtype), pieces = c.piecesOf(rank(), rankCount);
  const uint64_t perRank = c.buffer.size() / size / pieces;
  const uint64_t most = isOfPieces(c)          ? gatheredBytes
                        : options.communicator ? copiedBytes / size
                                               : pieceElements;
  const uint64_t count = std::min(most, perRank - operation.issued);
  const uint64_t bytes = count * size * pieces;
  operation.piece = c.buffer.subspan(operation.issued * size, bytes);
  operation.issued += count;
  const int elements = static_cast<int>(count);
  std::byte *at = operation.piece.data();
  const void *from = MPI_IN_PLACE;
  if (options.communicator) {
    const bool two = c.kind == Collective::Kind::Sum && rankCount >= 4;
    operation.copy = std::make_unique_for_overwrite<std::byte[]>(two ? 2 * bytes : bytes);
    at = operation.copy.get();
    std::byte *const own = two ? at + bytes : at;
    std::memcpy(own, operation.piece.data(), bytes);
    if (two)
      from = own;
  }
  std::lock_guard turn(turns);
  switch (c.kind) {
  case Collective::Kind::Sum: {
    chooseSum(bytes);
    const MPI_Op op = c.dtype == DLC_BF16 ? sumBf16 : c.dtype == DLC_F16 ? sumF16 : MPI_SUM;
    return checkMpi(
        MPI_Iallreduce(from, at, elements, typeOf(c.dtype), op, channel, &operation.request),
        "summing");
  }
  case Collective::Kind::Broadcast:
    return checkMpi(MPI_Ibcast(at, elements, MPI_BYTE, 0, channel, &operation.request),
                    "broadcasting");
  case Collective::Kind::Gather:
    return checkMpi(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, at, elements, MPI_BYTE, channel,
                                   &operation.request),
                    "gathering");
  case Collective::Kind::Collect:
    return checkMpi(rank() == 0 ? MPI_Igather(MPI_IN_PLACE, 0, MPI_BYTE, at, elements, MPI_BYTE, 0,
                                              channel, &operation.request)
                                : MPI_Igather(at, elements, MPI_BYTE, nullptr, 0, MPI_BYTE, 0,
                                              channel, &operation.request),
                    "collecting");
  case Collective::Kind::Distribute:
    return checkMpi(rank() == 0 ? MPI_Iscatter(at, elements, MPI_BYTE, MPI_IN_PLACE, 0, MPI_BYTE, 0,
                                               channel, &operation.request)
                                : MPI_Iscatter(nullptr, 0, MPI_BYTE, at, elements, MPI_BYTE, 0,
                                               channel, &operation.request),
                    "distributing");
  }
  return {};
}

/// Whether nothing of an operation is under way.
Status MpiTransport::test(Operation &operation, bool &complete) {
  int ended = 1;
  if (operation.request != MPI_REQUEST_NULL) {
    std::lock_guard turn(turns);
    DLC_TRY(checkMpi(MPI_Test(&operation.request, &ended, MPI_STATUS_IGNORE), "waiting"));
  }
  complete = ended;
  if (complete && operation.copy) {
    std::memcpy(operation.piece.data(), operation.copy.get(), operation.piece.size());
    operation.copy.reset();
  }
  return {};
}

/// Elements of an operation, for each rank.
static uint64_t elementsOf(const Collective &c, unsigned rank, unsigned ranks) {
  return c.buffer.size() / dtypeSize(c.dtype) / c.piecesOf(rank, ranks);
}

/// Starts what was asked for and tests what runs; true if something was done.
bool MpiTransport::progress(std::unique_lock<std::mutex> &lock) {
  // Only this thread removes operations, and a deque's elements stay where they are when others are
  // appended.
  const size_t known = operations.size();
  bool moved = false, taken[channelCount] = {};
  for (size_t i = 0; i < known && !failed; ++i) {
    Operation &operation = operations[i];
    const uint64_t all = elementsOf(operation.collective, rank(), rankCount);
    bool &channelTaken = taken[operation.collective.channel];
    if (operation.done || (operation.issued == 0 && channelTaken))
      continue;
    calling = true;
    lock.unlock();
    bool complete = false;
    Status status = guarded([&] { return test(operation, complete); });
    const bool ended = complete && operation.issued == all;
    Collective::Times *times = operation.collective.times;
    if (times && operation.issued == 0)
      times->begin = steadyNanoseconds();
    if (times && ended)
      times->end = steadyNanoseconds();
    if (status.ok() && complete && !ended) {
      status = guarded([&] { return issue(operation); });
      moved = true;
    }
    // All ranks must give MPI the pieces of a channel in the same order.
    channelTaken |= operation.issued < all;
    lock.lock();
    calling = false;
    if (!status.ok() && !failed)
      failed = status.message();
    if (ended)
      operation.done = moved = true;
  }
  while (!operations.empty() && operations.front().done) {
    operations.pop_front();
    ++firstTicket;
  }
  return moved || failed;
}

void MpiTransport::work(std::promise<Status> &ready) {
  Status status = guarded([&] { return initialise(); });
  const bool up = status.ok();
  ready.set_value(std::move(status));
  if (!up)
    return;
  // Pauses are short: the system is not to make them longer.
  prctl(PR_SET_TIMERSLACK, 1ul);
  askForShortTurns();
  constexpr unsigned tries = 64;
  constexpr auto shortest = 10us, longest = 100us, longestAwaited = 20us;
  // Who yields to a thread that computes gets the processor back a turn of that thread later. It is
  // tried where the plan waits, for then kernels do not run, and others may not either.
  constexpr auto crowding = 200us, crowded = 100'000us;
  Clock::time_point alone;
  unsigned idle = 0;
  auto pause = shortest;
  std::unique_lock lock(mutex);
  while (true) {
    wanted.wait(lock, [&] { return stopping || (!failed && !operations.empty()); });
    if (stopping)
      break;
    if (progress(lock)) {
      changed.notify_all();
      idle = 0;
      pause = shortest;
      continue;
    }
    const bool awaited = waiting != 0;
    lock.unlock();
    const Clock::time_point now = Clock::now();
    if (++idle >= tries || !awaited || now < alone) {
      pause = std::min(2 * pause, awaited ? longestAwaited : longest);
      std::this_thread::sleep_for(pause);
    } else {
      std::this_thread::yield();
      if (Clock::now() - now > crowding)
        alone = now + crowded;
    }
    lock.lock();
  }
  const bool last = left;
  lock.unlock();
  if (last)
    finalise();
}

} // namespace dlc::runtime
