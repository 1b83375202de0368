// libnccl.so.2 without a device, for tests whose ranks are processes of one machine: those of
// NCCL's calls that the CUDA device makes, over shared memory. A sum is a command of FakeCuda's
// stream, and is done when all ranks have come to it. Calls go on beside their caller; the first
// sum that is asked for waits until all ranks have asked, as NCCL may do to connect them.
//
// DLC_TEST_FAULT="RANK PLACE SIGNAL" has a rank send itself a signal: when it is to `connect`, or
// when its device comes to the third `sum`.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nccl.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

/// Of the program: gives work to a stream; it is tried until it gives true.
extern "C" bool dlc_test_issue(cudaStream_t stream, bool (*work)(void *), void *argument);

namespace {

constexpr unsigned mostRanks = 8;
constexpr size_t mostElements = 1 << 16;

struct Rank {
  /// Sums that it has asked for, that its device has come to, and that it has done.
  std::atomic<uint64_t> asked, came, done;
  /// Of the sum that its device is at.
  uint64_t count;
  float values[mostElements];
};

/// Zero when it is made.
struct Shared {
  std::atomic<unsigned> connected, parted;
  Rank ranks[mostRanks];
};

enum class State { Connecting, Asking, Parting, Ready };

struct Communicator {
  std::string name;
  Shared *shared;
  unsigned rank, count;
  State state = State::Connecting;
  ncclResult_t error = ncclSuccess;
  bool aborted = false;
  /// The sum that the device is at.
  const void *current = nullptr;

  Rank &own() const { return shared->ranks[rank]; }
  /// Whether all ranks have counted so far.
  bool all(std::atomic<uint64_t> Rank::*counter, uint64_t least) const {
    return std::all_of(shared->ranks, shared->ranks + count,
                       [&](const Rank &rank) { return rank.*counter >= least; });
  }
};
Communicator &of(ncclComm_t which) { return *reinterpret_cast<Communicator *>(which); }

struct Sum {
  Communicator *ranks;
  float *buffer;
  size_t count;
};

void meetFault(unsigned rank, std::string_view place) {
  const char *text = std::getenv("DLC_TEST_FAULT");
  unsigned faulty = 0;
  char where[16] = "";
  int signal = 0;
  if (text && std::sscanf(text, "%u %15s %d", &faulty, where, &signal) == 3 && faulty == rank &&
      place == where)
    raise(signal);
}

/// Of one communicator one after the other, in the same order on all ranks.
bool run(void *argument) {
  const Sum &sum = *static_cast<Sum *>(argument);
  Communicator &ranks = *sum.ranks;
  Rank &own = ranks.own();
  if (ranks.aborted)
    return true;
  if (ranks.current && ranks.current != &sum) {
    ranks.error = ncclInvalidUsage;
    return false;
  }
  if (!ranks.current) {
    // The others may still read what the sum before has left here.
    if (!ranks.all(&Rank::done, own.came))
      return false;
    if (own.came == 2)
      meetFault(ranks.rank, "sum");
    ranks.current = &sum;
    std::copy_n(sum.buffer, sum.count, own.values);
    own.count = sum.count;
    ++own.came;
  }
  if (!ranks.all(&Rank::came, own.came))
    return false;
  std::fill_n(sum.buffer, sum.count, 0.0f);
  for (unsigned rank = 0; rank < ranks.count; ++rank) {
    const Rank &other = ranks.shared->ranks[rank];
    if (other.count != sum.count)
      ranks.error = ncclInvalidUsage;
    for (size_t i = 0; i < std::min<size_t>(sum.count, other.count); ++i)
      sum.buffer[i] += other.values[i];
  }
  ranks.current = nullptr;
  ++own.done;
  return true;
}

/// Nothing may be asked for before what was asked for is done.
ncclResult_t begin(Communicator &ranks, State state) {
  if (ranks.state != State::Ready)
    return ncclInvalidUsage;
  ranks.state = state;
  return ncclInProgress;
}

bool isOver(const Communicator &ranks) {
  switch (ranks.state) {
  case State::Connecting:
    return ranks.shared->connected == ranks.count;
  case State::Asking:
    return ranks.all(&Rank::asked, 1);
  case State::Parting:
    return ranks.shared->parted == ranks.count;
  case State::Ready:
    break;
  }
  return true;
}

} // namespace

extern "C" {

const char *ncclGetErrorString(ncclResult_t) { return "of the stand-in"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static int number = 0;
  std::snprintf(id->internal, sizeof(id->internal), "/dlc-test-nccl-%d-%d", getpid(), ++number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *made, int count, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (config->blocking != 0 || unsigned(count) > mostRanks)
    return ncclInvalidArgument;
  meetFault(unsigned(rank), "connect");
  const int file = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0)
    return ncclSystemError;
  void *start = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (start == MAP_FAILED)
    return ncclSystemError;
  auto *ranks =
      new Communicator{id.internal, static_cast<Shared *>(start), unsigned(rank), unsigned(count)};
  ++ranks->shared->connected;
  *made = reinterpret_cast<ncclComm_t>(ranks);
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t which, ncclResult_t *error) {
  Communicator &ranks = of(which);
  if (isOver(ranks)) {
    if (ranks.state == State::Connecting)
      shm_unlink(ranks.name.c_str());
    ranks.state = State::Ready;
  }
  *error = ranks.error != ncclSuccess    ? ranks.error
           : ranks.state == State::Ready ? ncclSuccess
                                         : ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t which) {
  ++of(which).shared->parted;
  return begin(of(which), State::Parting);
}

ncclResult_t ncclCommDestroy(ncclComm_t which) {
  munmap(of(which).shared, sizeof(Shared));
  return ncclSuccess;
}

/// Sums that it has been asked for know it yet, so it stays.
ncclResult_t ncclCommAbort(ncclComm_t which) {
  shm_unlink(of(which).name.c_str());
  of(which).aborted = true;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t which, cudaStream_t stream) {
  if (from != to || type != ncclFloat32 || operation != ncclSum || count > mostElements)
    return ncclInvalidArgument;
  Communicator &ranks = of(which);
  if (ncclResult_t begun = begin(ranks, State::Asking); begun != ncclInProgress)
    return begun;
  ++ranks.own().asked;
  auto *sum = new Sum{&ranks, static_cast<float *>(to), count};
  return dlc_test_issue(stream, run, sum) ? ncclInProgress : ncclUnhandledCudaError;
}

ncclResult_t ncclCommRegister(const ncclComm_t, void *buffer, size_t, void **handle) {
  *handle = buffer;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t, void *) { return ncclSuccess; }

} // extern "C"
