// A program that has MPI for itself and lets the library use a communicator of it: run by mpirun,
// or alone, as `dlc_runtime_host_program_tests LEVEL`, the level with which it initialises MPI, or
// `none`. What transports must do is in ConformanceTest; here is what is the program's.
#include "dlc/ranks.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Initialise.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <mutex>
#include <numeric>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace dlc::runtime;

namespace {

/// Longer than any test takes, however busy the machine.
constexpr double timeout = 3000;

std::string level;
int worldRank = 0, worldSize = 1;
/// What MPI says that it is, if a test has it say something else.
const char *otherLibrary = nullptr;

/// Functions of the library that are at work, and calls of MPI that are; of the latter, counted,
/// those of another thread than the program's, those where no function was at work, and those
/// beside another.
std::atomic<int> working = 0, calling = 0, foreign = 0, intruding = 0, meeting = 0;
/// While held, MPI ends nothing that the library asks of it; sums that it was asked for.
std::atomic<bool> held = false;
std::atomic<int> foreignSums = 0;
struct Working {
  Working() { ++working; }
  ~Working() { --working; }
};
struct Calling {
  Calling() {
    foreign += isForeign;
    intruding += isForeign && working == 0;
    meeting += ++calling > 1;
  }
  ~Calling() { --calling; }
  static inline const std::thread::id program = std::this_thread::get_id();
  const bool isForeign = std::this_thread::get_id() != program;
};

/// A communicator of the program's.
struct Communicator {
  MPI_Comm comm = MPI_COMM_NULL;
  ~Communicator() { free(); }
  void free() {
    if (comm != MPI_COMM_NULL)
      MPI_Comm_free(&comm);
  }
  int handle() const { return MPI_Comm_c2f(comm); }
};

/// All processes; the lower and the upper half of them; all of them backwards.
void duplicate(Communicator &to) { MPI_Comm_dup(MPI_COMM_WORLD, &to.comm); }
void split(int color, int key, Communicator &to) {
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &to.comm);
}
int ownHalf() { return worldSize == 1 ? 0 : worldRank / (worldSize / 2); }

/// Null, and a test that has failed, where it fails.
std::shared_ptr<Ranks> join(const Communicator &communicator) {
  const Working here;
  auto joined = Ranks::join(communicator.handle(), {.timeout = timeout});
  EXPECT_TRUE(joined.ok()) << joined.status().message();
  return joined.ok() ? joined.take() : nullptr;
}

Status leave(Ranks &ranks) {
  const Working here;
  return ranks.leave();
}

Status sum(Ranks &ranks, std::vector<float> &values) {
  const Working here;
  return ranks.transport()->run(
      {Collective::Kind::Sum, 0, DLC_F32, std::as_writable_bytes(std::span(values))});
}

/// Adds up over the ranks `count` numbers, of which rank r brings r + i, and looks at the sums.
Status sumUp(Ranks &ranks, uint64_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), float(ranks.rank()));
  Status status = sum(ranks, values);
  const unsigned size = ranks.size();
  uint64_t wrong = 0;
  for (uint64_t i = 0; status.ok() && i < count; ++i)
    wrong += values[i] != float(size * i + size * (size - 1) / 2);
  EXPECT_EQ(wrong, 0u) << count;
  return status;
}

/// Sums of all sizes and types, a broadcast in several pieces and a gather.
void work(Ranks &ranks) {
  const Working here;
  for (uint64_t count : {1, 4096, 4097, 100000}) {
    const Status status = sumUp(ranks, count);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (dlc_dtype dtype : {DLC_F64, DLC_BF16, DLC_F16}) {
    std::vector<std::byte> one(dtypeSize(dtype));
    storeElement(dtype, ranks.rank() + 1, one.data());
    ASSERT_TRUE(ranks.transport()->run({Collective::Kind::Sum, 1, dtype, one}).ok());
    EXPECT_EQ(loadElement(dtype, one.data()), ranks.size() * (ranks.size() + 1) / 2);
  }
  const std::string said(5'000'000, 's');
  std::string text = ranks.rank() == 0 ? said : "mine";
  ASSERT_TRUE(ranks.transport()->broadcast(text).ok());
  EXPECT_TRUE(text == said);
  auto texts = ranks.transport()->gather(std::string(ranks.rank() + 1, 'x'));
  ASSERT_TRUE(texts.ok()) << texts.status().message();
  ASSERT_EQ(texts->size(), ranks.size());
  EXPECT_EQ(texts->back(), std::string(ranks.size(), 'x'));
}

/// What the program does with MPI itself, in between.
void simulate(MPI_Comm comm = MPI_COMM_WORLD) {
  int size = 0, all = 0, one = 1;
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
  EXPECT_EQ(all, size);
  std::vector<double> field(30000, 1), sums(30000);
  MPI_Request request;
  MPI_Iallreduce(field.data(), sums.data(), int(field.size()), MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(sums.back(), size);
}

void expectRefused(int handle, const std::string &message) {
  const auto joined = Ranks::join(handle);
  ASSERT_FALSE(joined.ok());
  EXPECT_EQ(joined.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(joined.status().message(), message);
}

// Two halves and all of them backwards, at once; the communicators need not live as long.
TEST(HostProgram, LendsSeveralCommunicators) {
  Communicator half, backwards;
  split(ownHalf(), worldRank, half);
  split(0, -worldRank, backwards);
  auto first = join(half), second = join(backwards);
  ASSERT_TRUE(first && second);
  half.free();
  EXPECT_EQ(first->size(), unsigned(std::max(1, worldSize / 2)));
  EXPECT_EQ(second->size(), unsigned(worldSize));
  EXPECT_EQ(second->rank(), unsigned(worldSize - 1 - worldRank));
  for (int step = 0; step < 3; ++step) {
    work(*first);
    simulate(backwards.comm);
    work(*second);
    simulate();
  }
  EXPECT_TRUE(leave(*first).ok());
  work(*second);
  EXPECT_TRUE(leave(*second).ok());
}

// Runs on threads of their own: the library's threads take turns in MPI.
TEST(HostProgram, LendsThemAtTheSameTime) {
  Communicator one, other;
  duplicate(one);
  duplicate(other);
  auto first = join(one), second = join(other);
  ASSERT_TRUE(first && second);
  std::thread beside([&] {
    for (int step = 0; step < 20; ++step)
      work(*second);
  });
  for (int step = 0; step < 20; ++step)
    work(*first);
  beside.join();
  EXPECT_TRUE(leave(*first).ok());
  EXPECT_TRUE(leave(*second).ok());
}

// Where two or four ranks add up the bits are those of MPI of the library's own, which
// ConformanceTest looks at: pairs first.
TEST(HostProgram, GetsTheSameBits) {
  Communicator all;
  duplicate(all);
  auto ranks = join(all);
  ASSERT_TRUE(ranks);
  auto valueOf = [](unsigned rank, uint64_t i) { return 1 / float(i % 97 + 3 + 11 * rank); };
  for (uint64_t count : {5, 4096, 20000, 3000001}) {
    std::vector<float> values(count);
    for (uint64_t i = 0; i < count; ++i)
      values[i] = valueOf(ranks->rank(), i);
    ASSERT_TRUE(sum(*ranks, values).ok());
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const float first = valueOf(0, i), pair = first + valueOf(1, i);
      const float four = pair + (valueOf(2, i) + valueOf(3, i));
      wrong += values[i] != (worldSize == 1 ? first : worldSize == 2 ? pair : four);
    }
    EXPECT_EQ(wrong, 0u) << count;
  }
  EXPECT_TRUE(leave(*ranks).ok());
}

// MPI is done with when ranks have left, however long they live, and as it was; the communicator
// may be lent again.
TEST(HostProgram, LendsOneAgain) {
  Communicator all;
  duplicate(all);
  std::shared_ptr<Ranks> left;
  for (int time = 0; time < 3; ++time) {
    auto ranks = join(all);
    ASSERT_TRUE(ranks);
    work(*ranks);
    EXPECT_TRUE(leave(*ranks).ok());
    EXPECT_TRUE(leave(*ranks).ok()) << "a second time is none";
    int provided = 0;
    MPI_Query_thread(&provided);
    EXPECT_EQ(provided, level == "MULTIPLE" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED);
    simulate(all.comm);
    left = ranks;
  }
  if (worldSize > 1)
    EXPECT_EQ(sumUp(*left, 1).message(), "the ranks have left each other");
}

TEST(HostProgram, LendsNoOtherHandle) {
  expectRefused(MPI_Comm_c2f(MPI_COMM_NULL),
                "MPI: " + std::to_string(MPI_Comm_c2f(MPI_COMM_NULL)) +
                    " is MPI_COMM_NULL; expected what MPI_Comm_c2f() gives for one");
  for (int handle : {-1, 1 << 20})
    expectRefused(handle, "MPI: " + std::to_string(handle) +
                              " is no communicator; expected what MPI_Comm_c2f() gives for one");
  Communicator freed;
  duplicate(freed);
  const int handle = freed.handle();
  freed.free();
  expectRefused(handle, "MPI: " + std::to_string(handle) +
                            " is no communicator; expected what MPI_Comm_c2f() gives for one");
  if (worldSize == 1)
    return;
  Communicator half, between;
  split(ownHalf(), worldRank, half);
  MPI_Intercomm_create(half.comm, 0, MPI_COMM_WORLD, ownHalf() == 0 ? worldSize / 2 : 0, 0,
                       &between.comm);
  expectRefused(between.handle(),
                "MPI: the communicator is one between two groups; expected one of one");
}

// Handles of another MPI are other things.
TEST(HostProgram, MayNotHaveAnotherMpi) {
  otherLibrary = "MPICH Version:\t4.0.2\nMPICH ABI:\t14:2:2\n";
  expectRefused(MPI_Comm_c2f(MPI_COMM_WORLD),
                "MPI: libdlc_mpi.so was built with Open MPI, and the program has MPICH Version");
  otherLibrary = nullptr;
}

// The ranks that a starter knows of are found by a library that initialises MPI itself.
TEST(HostProgram, CannotHaveMpiInitialisedAgain) {
  if (worldSize == 1)
    return;
  const auto opened = Ranks::open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::Unsupported);
  EXPECT_EQ(opened.status().message(), "MPI: is initialised already; ranks are then those of a "
                                       "communicator that is handed over");
}

TEST(HostProgram, WaitsSomeTime) {
  for (double seconds : {0.0, -1.0}) {
    const auto joined = Ranks::join(MPI_Comm_c2f(MPI_COMM_WORLD), {.timeout = seconds});
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.status().code(), StatusCode::InvalidArgument);
  }
}

// How Open MPI sums is a parameter of the process, and stays what the program has made it.
TEST(HostProgram, SumsAsItDid) {
  int provided = 0, index = 0, values = 0;
  MPI_T_cvar_handle handle;
  MPI_Query_thread(&provided);
  ASSERT_EQ(MPI_T_init_thread(provided, &provided), MPI_SUCCESS);
  ASSERT_EQ(MPI_T_cvar_get_index("coll_libnbc_iallreduce_algorithm", &index), MPI_SUCCESS);
  ASSERT_EQ(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &values), MPI_SUCCESS);
  Communicator all;
  duplicate(all);
  auto ranks = join(all);
  ASSERT_TRUE(ranks);
  for (int algorithm : {0, 1, 2}) {
    int found = -1;
    MPI_T_cvar_write(handle, &algorithm);
    work(*ranks);
    MPI_T_cvar_read(handle, &found);
    EXPECT_EQ(found, algorithm);
    simulate();
  }
  EXPECT_TRUE(leave(*ranks).ok());
  constexpr int automatic = 0;
  MPI_T_cvar_write(handle, &automatic);
  MPI_T_cvar_handle_free(&handle);
  MPI_T_finalize();
}

// A rank that goes without leaving, where others sum: they hear of it, and all go on with their
// communicators, this one too.
TEST(HostProgram, GoesOnWithoutARank) {
  if (worldSize == 1)
    return;
  for (int who : {0, worldSize - 1}) {
    Communicator all, second;
    duplicate(all);
    duplicate(second);
    auto ranks = join(all), others = join(second);
    ASSERT_TRUE(ranks && others);
    work(*ranks);
    ranks->transport()->setStep(7);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::string message = "rank " + std::to_string(who) + " ended in step 7";
    if (worldRank != who) {
      std::vector<float> values(100000, 1);
      const Status status = sum(*ranks, values);
      EXPECT_EQ(status.code(), StatusCode::Failed);
      EXPECT_EQ(status.message(), message);
      EXPECT_EQ(sumUp(*ranks, 1).message(), message);
      EXPECT_EQ(leave(*ranks).message(), message);
    }
    ranks.reset();
    simulate(all.comm);
    work(*others);
    EXPECT_TRUE(leave(*others).ok());
    auto again = join(all);
    ASSERT_TRUE(again);
    work(*again);
    EXPECT_TRUE(leave(*again).ok());
  }
}

// What is under way when ranks fail is brought to its end by what the program asks of MPI: it
// writes to no memory of the program's.
TEST(HostProgram, HasItsMemoryBack) {
  if (worldSize == 1)
    return;
  Communicator all;
  duplicate(all);
  auto ranks = join(all);
  ASSERT_TRUE(ranks);
  // Memory of all, for no call of MPI may be made meanwhile.
  std::atomic<int> *begun = nullptr;
  MPI_Win window;
  MPI_Win_allocate_shared(worldRank == 0 ? sizeof(*begun) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                          static_cast<void *>(&begun), &window);
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &size, &unit, static_cast<void *>(&begun));
  if (worldRank == 0)
    *begun = 0;
  MPI_Barrier(MPI_COMM_WORLD);

  std::vector<float> values(100000, 1);
  const int before = foreignSums;
  held = true;
  {
    const Working here;
    auto ticket = ranks->transport()->start(
        {Collective::Kind::Sum, 0, DLC_F32, std::as_writable_bytes(std::span(values))});
    ASSERT_TRUE(ticket.ok()) << ticket.status().message();
    while (foreignSums == before)
      std::this_thread::yield();
    for (++*begun; *begun != worldSize;)
      std::this_thread::yield();
    if (worldRank != 0)
      EXPECT_EQ(ranks->transport()->wait(*ticket).message(), "rank 0 ended in step 0");
    ranks.reset();
  }
  held = false;
  std::ranges::fill(values, 2.0f);
  for (int step = 0; step < 5; ++step)
    simulate();
  EXPECT_EQ(std::ranges::count(values, 2.0f), std::ptrdiff_t(values.size()));
  MPI_Win_free(&window);
}

// One that never comes: the others do not wait for ever, and can use MPI as before.
TEST(HostProgram, GoesOnWhereOneStaysAway) {
  if (worldSize == 1)
    return;
  Communicator all;
  duplicate(all);
  if (worldRank != worldSize - 1) {
    ++working;
    const auto joined = Ranks::join(all.handle(), {.timeout = 0.05});
    --working;
    ASSERT_FALSE(joined.ok());
    EXPECT_EQ(joined.status().code(), StatusCode::Failed);
    EXPECT_EQ(joined.status().message(), "MPI: not all " + std::to_string(worldSize) +
                                             " processes of the communicator have come within "
                                             "0.1 s");
  }
  simulate();
  Communicator another;
  duplicate(another);
  auto ranks = join(another);
  ASSERT_TRUE(ranks);
  work(*ranks);
  EXPECT_TRUE(leave(*ranks).ok());
}

// All the while MPI was the program's where no function of the library was at work, and with
// MPI_THREAD_SERIALIZED one thread called it at a time.
TEST(HostProgram, IsAloneWithMpi) {
  EXPECT_EQ(foreign > 0, worldSize > 1);
  EXPECT_EQ(intruding, 0);
  if (level == "SERIALIZED")
    EXPECT_EQ(meeting, 0);
}

// The last test: ranks that have not left when MPI is finalised are of no use, and do no harm.
TEST(HostProgram, FinalisesMpi) {
  Communicator all;
  duplicate(all);
  auto ranks = join(all);
  ASSERT_TRUE(ranks);
  const int handle = all.handle();
  all.free();
  MPI_Finalize();
  if (worldSize > 1) {
    const std::string_view message = "MPI: was finalised before the ranks have left";
    EXPECT_EQ(sumUp(*ranks, 1).message(), message);
    EXPECT_EQ(leave(*ranks).message(), message);
  }
  ranks.reset();
  expectRefused(handle, "MPI: was finalised, and cannot be used again by this process");
}

// Run with a level that is not enough.
TEST(Level, IsTooLow) {
  expectRefused(level == "none" ? 0 : MPI_Comm_c2f(MPI_COMM_WORLD),
                level == "none"
                    ? "MPI: is not initialised; MPI_Init_thread() with MPI_THREAD_SERIALIZED or "
                      "more comes before a communicator is handed over"
                    : "MPI: is initialised with MPI_THREAD_" + level +
                          "; a communicator needs MPI_THREAD_SERIALIZED or more, as a thread of "
                          "the library's calls MPI");
}

// Run by two. Known work is waited for, longer than the timeout, and is called what it is.
TEST(Work, IsWaitedFor) {
  Communicator all;
  duplicate(all);
  std::mutex mutex;
  std::string warnings;
  auto joined =
      Ranks::join(all.handle(), {.timeout = 4, .log = [&](Severity, std::string_view line) {
                                   std::lock_guard lock(mutex);
                                   warnings += line;
                                 }});
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  Ranks &ranks = **joined;
  work(ranks);
  if (worldRank == 0) {
    const PhaseScope writing(*ranks.transport(), Phase::Write);
    std::this_thread::sleep_for(std::chrono::seconds(6));
  }
  EXPECT_TRUE(sumUp(ranks, 1000).ok());
  EXPECT_TRUE(leave(ranks).ok());
  std::lock_guard lock(mutex);
  EXPECT_EQ(warnings.find("step 0: ranks that wait: 1; rank 0 has been writing a file for ") !=
                warnings.npos,
            worldRank == 0)
      << warnings;
}

// Run by two, of whom rank 0 may open one more file, as libdlc_mpi.so is: a watch needs several.
TEST(Unwatched, GoesOn) {
  Communicator all;
  duplicate(all);
  simulate(all.comm);
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(next);
  const rlimit one = {rlim_t(next + 1), rlim_t(next + 1)};
  if (worldRank == 0)
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one), 0);
  std::string warnings;
  auto joined = Ranks::join(
      all.handle(), {.timeout = timeout, .log = [&](Severity, auto line) { warnings += line; }});
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  work(**joined);
  (*joined)->transport()->setStep(1);
  EXPECT_TRUE(leave(**joined).ok());
  EXPECT_EQ(warnings, worldRank != 0
                          ? ""
                          : "ranks: cannot watch others: Too many open files, and 1 other has "
                            "trouble; the ranks go on unwatched: of one that ends or stands still "
                            "they hear from MPI alone");
}

// Run by an mpirun that lets the others live: each says what it has heard, and that it lives.
TEST(Death, LeavesTheOthersAlive) {
  Communicator all;
  duplicate(all);
  auto ranks = join(all);
  ASSERT_TRUE(ranks);
  work(*ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (worldRank == 1)
    std::raise(SIGKILL);
  const Status status = sumUp(*ranks, 100000);
  ranks.reset();
  std::printf("rank %d goes on: %s\n", worldRank, std::string(status.message()).c_str());
  std::fflush(stdout);
  // MPI's end would wait for the one that is dead.
  std::_Exit(0);
}

} // namespace

// Before MPI's own.

extern "C" int MPI_Test(MPI_Request *request, int *ended, MPI_Status *status) {
  const Calling here;
  if (held && here.isForeign)
    return *ended = 0, MPI_SUCCESS;
  return PMPI_Test(request, ended, status);
}

extern "C" int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request *request) {
  const Calling here;
  const int code = PMPI_Iallreduce(from, to, count, type, op, comm, request);
  foreignSums += here.isForeign;
  return code;
}

extern "C" int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  const Calling here;
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

extern "C" int MPI_Get_library_version(char *version, int *length) {
  if (!otherLibrary)
    return PMPI_Get_library_version(version, length);
  *length = int(std::strlen(otherLibrary));
  std::strcpy(version, otherLibrary);
  return MPI_SUCCESS;
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  level = argc > 1 ? argv[1] : "none";
  if (level != "none") {
    const int wanted = level == "SINGLE"       ? MPI_THREAD_SINGLE
                       : level == "FUNNELED"   ? MPI_THREAD_FUNNELED
                       : level == "SERIALIZED" ? MPI_THREAD_SERIALIZED
                                               : MPI_THREAD_MULTIPLE;
    int provided = 0;
    MPI_Init_thread(&argc, &argv, wanted, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &worldRank);
    MPI_Comm_size(MPI_COMM_WORLD, &worldSize);
  }
  // One report is enough; the others speak where something fails.
  if (worldRank != 0) {
    auto &listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int result = RUN_ALL_TESTS();
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (level != "none" && !finalised)
    MPI_Finalize();
  return result;
}
