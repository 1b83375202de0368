// What every transport must do. Run as it is for `self`, and by mpirun for `mpi`: each rank runs
// all of it, and computes by itself what the ranks must come to.
#include "runtime/Collectives/RankTimelines.h"
#include "runtime/Collectives/RecordSum.h"
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Core/Initialise.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <thread>

using namespace dlc::runtime;

namespace {

/// The ranks of this run. All tests of a process share them, as MPI starts once.
std::shared_ptr<Transport> ranks;

struct Ranks : testing::Environment {
  void SetUp() override {
    auto opened = openTransport();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    ranks = opened.take();
    // One report is enough; the others speak where something fails.
    if (ranks->rank() != 0) {
      auto &listeners = testing::UnitTest::GetInstance()->listeners();
      delete listeners.Release(listeners.default_result_printer());
    }
  }
  void TearDown() override {
    EXPECT_TRUE(ranks->leave().ok());
    ranks.reset();
  }
};
[[maybe_unused]] auto *const environment = testing::AddGlobalTestEnvironment(new Ranks);

/// What rank `rank` has at place `i`: small whole numbers, which all types add up exactly.
double valueAt(uint64_t i, unsigned rank) { return double((i * 7 + rank * 3) % 13) - 6; }

std::vector<std::byte> valuesOf(dlc_dtype dtype, uint64_t count, unsigned rank) {
  std::vector<std::byte> values(count * dtypeSize(dtype));
  for (uint64_t i = 0; i < count; ++i)
    storeElement(dtype, valueAt(i, rank), values.data() + i * dtypeSize(dtype));
  return values;
}

std::vector<std::byte> sumOf(dlc_dtype dtype, uint64_t count) {
  std::vector<std::byte> sum = valuesOf(dtype, count, 0);
  for (unsigned rank = 1; rank < ranks->ranks(); ++rank)
    addElements(dtype, valuesOf(dtype, count, rank).data(), sum.data(), count);
  return sum;
}

Collective summing(dlc_dtype dtype, std::vector<std::byte> &buffer, uint32_t channel = 0) {
  return {Collective::Kind::Sum, channel, dtype, buffer};
}

/// What a library that is loaded has under that name; null if none has.
template <typename Function> Function *function(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

constexpr dlc_dtype floats[] = {DLC_F32, DLC_F64, DLC_BF16, DLC_F16};

// Each type, from nothing to more than what goes in one piece of any implementation.
TEST(Conformance, AddsUp) {
  for (dlc_dtype dtype : floats)
    for (uint64_t count : {0, 1, 2, 3, 7, 255, 1000, 65537, 300001}) {
      std::vector<std::byte> values = valuesOf(dtype, count, ranks->rank());
      const Status status = ranks->run(summing(dtype, values));
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_EQ(values, sumOf(dtype, count)) << dtypeName(dtype) << ", " << count;
    }
}

// Open MPI exchanges small sums whole, where messages that wait for each other are what they take,
// and scatters and gathers large ones, where bytes are.
TEST(Conformance, SendsSmallSumsInFewerMessages) {
  if (ranks->ranks() == 1)
    return;
  const auto indexOf = function<int(const char *, int *)>("MPI_T_cvar_get_index");
  const auto open = function<int(int, void *, void **, int *)>("MPI_T_cvar_handle_alloc");
  const auto read = function<int(void *, void *)>("MPI_T_cvar_read");
  int index = 0, values = 0, algorithm = 0;
  void *handle = nullptr;
  ASSERT_TRUE(indexOf && open && read);
  ASSERT_EQ(indexOf("coll_libnbc_iallreduce_algorithm", &index), 0);
  ASSERT_EQ(open(index, nullptr, &handle, &values), 0);
  for (auto [count, expected] : {std::pair{16, 4}, {4096, 4}, {4097, 3}, {1, 4}}) {
    std::vector<std::byte> buffer = valuesOf(DLC_F32, uint64_t(count), ranks->rank());
    ASSERT_TRUE(ranks->run(summing(DLC_F32, buffer)).ok());
    ASSERT_EQ(read(handle, &algorithm), 0);
    EXPECT_EQ(algorithm, expected) << count;
  }
}

// Who is in no hurry hears of the end all the same.
TEST(Conformance, AddsUpWithoutHurry) {
  for (uint64_t count : {1, 65537}) {
    std::vector<std::byte> values = valuesOf(DLC_F32, count, ranks->rank());
    Collective sum = summing(DLC_F32, values);
    sum.unhurried = true;
    ASSERT_TRUE(ranks->run(sum).ok());
    EXPECT_EQ(values, sumOf(DLC_F32, count));
  }
}

// More than 2^24 elements.
TEST(Conformance, AddsUpLargeOnes) {
  const uint64_t count = (uint64_t(1) << 24) + 5;
  std::vector<float> values(count);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = float(valueAt(i, ranks->rank()));
  ASSERT_TRUE(
      ranks->run({Collective::Kind::Sum, 0, DLC_F32, std::as_writable_bytes(std::span(values))})
          .ok());
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (unsigned rank = 0; rank < ranks->ranks(); ++rank)
      sum += valueAt(i, rank);
    wrong += values[i] != sum;
  }
  EXPECT_EQ(wrong, 0u);
}

// Where sums round, all ranks have the same bits, again and again.
TEST(Conformance, GivesAllTheSameBits) {
  for (uint64_t count : {5, 4096, 200000}) {
    std::vector<float> first;
    for (int round = 0; round < 3; ++round) {
      std::vector<float> values(count);
      for (uint64_t i = 0; i < count; ++i)
        values[i] = 1 / float(i % 97 + 3 + 11 * ranks->rank());
      ASSERT_TRUE(
          ranks->run({Collective::Kind::Sum, 1, DLC_F32, std::as_writable_bytes(std::span(values))})
              .ok());
      std::vector<float> of0 = values;
      ASSERT_TRUE(ranks->broadcast(std::as_writable_bytes(std::span(of0))).ok());
      EXPECT_EQ(values, of0);
      if (round == 0)
        first = values;
      EXPECT_EQ(values, first);
    }
  }
}

// Of four, pairs first: as in a program's own MPI, where sums go another way (HostProgramTest).
TEST(Conformance, AddsUpPairsFirst) {
  if (ranks->ranks() != 4)
    return;
  auto valueOf = [](unsigned rank, uint64_t i) { return 1 / float(i % 97 + 3 + 11 * rank); };
  for (uint64_t count : {5, 4096, 20000, 3000001}) {
    std::vector<float> values(count);
    for (uint64_t i = 0; i < count; ++i)
      values[i] = valueOf(ranks->rank(), i);
    ASSERT_TRUE(
        ranks->run({Collective::Kind::Sum, 0, DLC_F32, std::as_writable_bytes(std::span(values))})
            .ok());
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; ++i)
      wrong += values[i] != (valueOf(0, i) + valueOf(1, i)) + (valueOf(2, i) + valueOf(3, i));
    EXPECT_EQ(wrong, 0u) << count;
  }
}

// Many at once, on all channels, waited for in another order than the one they were started in.
TEST(Conformance, RunsSeveralAtOnce) {
  constexpr size_t count = 60;
  std::vector<std::vector<std::byte>> buffers;
  std::vector<Transport::Ticket> tickets;
  for (size_t i = 0; i < count; ++i)
    buffers.push_back(valuesOf(floats[i % 4], i * i * 31, ranks->rank()));
  for (size_t i = 0; i < count; ++i) {
    auto ticket = ranks->start(summing(floats[i % 4], buffers[i], uint32_t(i % channelCount)));
    ASSERT_TRUE(ticket.ok());
    tickets.push_back(*ticket);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t other = (i * 37 + ranks->rank()) % count;
    ASSERT_TRUE(ranks->wait(tickets[other]).ok());
    EXPECT_EQ(buffers[other], sumOf(floats[other % 4], other * other * 31)) << other;
  }
  // A second wait is none.
  EXPECT_TRUE(ranks->wait(tickets[0]).ok());
}

// Small ones on one channel, while a large one on another is under way, and from two threads.
TEST(Conformance, ChannelsAreIndependent) {
  std::vector<std::byte> large = valuesOf(DLC_F32, 3000000, ranks->rank());
  auto ticket = ranks->start(summing(DLC_F32, large, DLC_CHANNEL_BUCKETS));
  ASSERT_TRUE(ticket.ok());
  auto smallOnes = [](uint32_t channel) {
    for (int i = 0; i < 50; ++i) {
      std::vector<std::byte> small = valuesOf(DLC_F64, 3, ranks->rank());
      EXPECT_TRUE(ranks->run(summing(DLC_F64, small, channel)).ok());
      EXPECT_EQ(small, sumOf(DLC_F64, 3));
    }
  };
  std::thread other(smallOnes, DLC_CHANNEL_SMALL);
  smallOnes(controlChannel);
  other.join();
  ASSERT_TRUE(ranks->wait(*ticket).ok());
  EXPECT_EQ(large, sumOf(DLC_F32, 3000000));
}

TEST(Conformance, BroadcastsAndGathers) {
  std::string text = ranks->rank() == 0 ? std::string(100000, 'x') + "end" : "mine";
  ASSERT_TRUE(ranks->broadcast(text).ok());
  EXPECT_EQ(text, std::string(100000, 'x') + "end");
  std::string none = ranks->rank() == 0 ? "" : "mine";
  ASSERT_TRUE(ranks->broadcast(none).ok());
  EXPECT_EQ(none, "");
  auto texts = ranks->gather(std::string(ranks->rank() * 5, char('a' + ranks->rank())));
  ASSERT_TRUE(texts.ok());
  ASSERT_EQ(texts->size(), ranks->ranks());
  for (unsigned i = 0; i < ranks->ranks(); ++i)
    EXPECT_EQ((*texts)[i], std::string(i * 5, char('a' + i)));
  double numbers[2] = {1, double(ranks->rank())};
  ASSERT_TRUE(ranks->sum(numbers).ok());
  EXPECT_EQ(numbers[0], ranks->ranks());
  EXPECT_EQ(numbers[1], ranks->ranks() * (ranks->ranks() - 1) / 2);
}

/// What a rank has to give: enough for several pieces.
std::string bytesOf(uint64_t count, unsigned rank) {
  std::string bytes(count, '\0');
  for (uint64_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>(i * 7 + i / 251 + rank * 31);
  return bytes;
}

void collectAndDistribute(Transport &among) {
  for (uint64_t count : {0, 1, 4096, 2500000}) {
    std::string mine = bytesOf(count, among.rank());
    auto all = among.collect(std::as_bytes(std::span(mine)));
    ASSERT_TRUE(all.ok()) << all.status().message();
    ASSERT_EQ(all->size(), among.rank() == 0 ? among.ranks() : 0);
    for (unsigned rank = 0; rank < all->size(); ++rank) {
      EXPECT_TRUE((*all)[rank] == bytesOf(count, rank)) << "rank " << rank << ", " << count;
      (*all)[rank] = bytesOf(count, rank + 100);
    }
    const Status status = among.distribute(*all, std::as_writable_bytes(std::span(mine)));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(mine == bytesOf(count, among.rank() + 100)) << "rank " << among.rank();
  }
}

// To rank 0 and back, each its own; of ranks that are threads too.
TEST(Conformance, CollectsAndDistributes) {
  collectAndDistribute(*ranks);
  std::vector<std::thread> threads;
  for (auto &member : makeVirtualRanks(ranks, 4 * ranks->ranks()))
    threads.emplace_back([member] { collectAndDistribute(*member); });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Conformance, ComparesWithRank0) {
  auto same = [](std::string_view mine) {
    return ranks->isSame(std::as_bytes(std::span(mine))).take();
  };
  EXPECT_TRUE(same("a"));
  EXPECT_TRUE(same(""));
  const bool isLast = ranks->rank() + 1 == ranks->ranks();
  EXPECT_EQ(same(isLast ? "a" : "b"), ranks->ranks() == 1);
}

// What cannot be is refused before any rank waits for another.
TEST(Conformance, RefusesWhatCannotBe) {
  std::vector<std::byte> bytes(ranks->ranks() * 2 + 1);
  const Collective strange{Collective::Kind::Sum, channelCount, DLC_F32, {}};
  EXPECT_EQ(ranks->start(strange).status().message(), "channel 3 of 3");
  if (ranks->ranks() > 1) {
    EXPECT_FALSE(ranks->start({Collective::Kind::Gather, controlChannel, DLC_U8, bytes}).ok());
    for (auto kind : {Collective::Kind::Collect, Collective::Kind::Distribute})
      if (ranks->rank() == 0)
        EXPECT_FALSE(ranks->start({kind, controlChannel, DLC_U8, bytes}).ok());
  }
  double one = 1;
  EXPECT_TRUE(ranks->sum(std::span(&one, 1)).ok());
}

// A starter is known by what it leaves in the environment.
// A collective says when it began and ended.
TEST(Conformance, TellsTimes) {
  std::vector<std::byte> values = valuesOf(DLC_F32, 1000, ranks->rank());
  Collective::Times times = {};
  Collective collective = summing(DLC_F32, values);
  collective.times = &times;
  const int64_t before = steadyNanoseconds();
  ASSERT_TRUE(ranks->run(collective).ok());
  EXPECT_LE(times.begin, times.end);
  EXPECT_LE(times.end, steadyNanoseconds());
  if (ranks->ranks() > 1)
    EXPECT_LE(before, times.begin);
}

/// A clock that is rank x 1 s ahead and runs fast by one part in a thousand.
int64_t wrongClock() {
  const int64_t time = steadyNanoseconds();
  return time + ranks->rank() * (int64_t(1'000'000'000) + time / 1000);
}

// Clocks of one machine are equal, so what a rank finds its own to be ahead is what was put in, to
// within the error that it states.
TEST(RankTimelines, ComparesClocks) {
  auto first = compareClocks(*ranks, wrongClock), last = compareClocks(*ranks, wrongClock);
  ASSERT_TRUE(first.ok() && last.ok());
  const int64_t error = std::max(first->error, last->error);
  if (ranks->rank() == 0)
    EXPECT_EQ(first->ahead, 0);
  // Between the readings a time is right; the drift within one exchange is far below its length.
  const int64_t early = first->at, true0 = (early - ranks->rank() * 1'000'000'000ll);
  const double rate = 1 + ranks->rank() * 1e-3;
  EXPECT_LE(std::abs(timeOfRank0(early, *first, *last) -
                     static_cast<int64_t>(static_cast<double>(true0) / rate)),
            error + error / 100 + 1000);
  EXPECT_LT(error, 50'000'000);
}

// Rank 0 gets all spans of all ranks in their order, also where they are many and differ in number.
TEST(RankTimelines, GathersSpans) {
  auto first = compareClocks(*ranks);
  ASSERT_TRUE(first.ok());
  Timeline timeline;
  const uint32_t count = 10 + 30000 * ranks->rank();
  const int64_t begin = steadyNanoseconds();
  for (uint32_t i = 0; i < count; ++i)
    timeline.add(SpanKind::Kernel, i, begin + i, begin + i + 1);
  auto all = gatherTimelines(*ranks, timeline, *first);
  ASSERT_TRUE(all.ok()) << all.status().message();
  ASSERT_EQ(all->size(), ranks->rank() == 0 ? ranks->ranks() : 0);
  for (unsigned rank = 0; rank < all->size(); ++rank) {
    const std::vector<Span> &spans = (*all)[rank].spans;
    ASSERT_EQ(spans.size(), 10 + 30000 * rank);
    for (size_t i = 0; i < spans.size(); ++i) {
      ASSERT_EQ(spans[i].number, i);
      ASSERT_LE(std::abs(spans[i].end - spans[i].begin - 1), 1);
    }
    if (ranks->ranks() > 1)
      EXPECT_GT((*all)[rank].transportSeconds, 0);
  }
}

/// What rank `rank` adds in run `run`.
std::vector<float> gradientOf(uint64_t count, unsigned rank, unsigned run) {
  std::vector<float> values(count);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = std::sin(float(i * 0.37 + rank * 1.3 + run * 0.11)) * float(1 + i % 7);
  return values;
}

// All ranks get the same bits, of few bytes. What a run leaves out the next ones bring: over many
// runs the sums are those of the numbers themselves, up to what is left at the end, which does not
// grow. With one rank nothing is left out.
TEST(CompressedSums, KeepWhatTheyLeaveOut) {
  for (dlc_collective kind : {DLC_COLLECTIVE_SUM_ONE_BIT, DLC_COLLECTIVE_SUM_TOP_K})
    for (uint64_t count : {0, 1, 13, 1024, 5000}) {
      RecordSum sum(kind);
      std::vector<float> residual(count);
      std::vector<double> all(count), exact(count);
      double worst[2] = {};
      constexpr unsigned runs = 400;
      for (unsigned run = 0; run < runs; ++run) {
        std::vector<float> values = gradientOf(count, ranks->rank(), run);
        const auto ticket = sum.start(*ranks, 0, DLC_F32, std::as_writable_bytes(std::span(values)),
                                      residual, nullptr);
        ASSERT_TRUE(ticket.ok() && ranks->wait(*ticket).ok());
        sum.finish();
        std::vector<float> of0 = values;
        ASSERT_TRUE(ranks->broadcast(std::as_writable_bytes(std::span(of0))).ok());
        EXPECT_EQ(values, of0);
        for (unsigned rank = 0; rank < ranks->ranks(); ++rank) {
          const std::vector<float> brought = gradientOf(count, rank, run);
          for (uint64_t i = 0; i < count; ++i)
            exact[i] += brought[i];
        }
        for (uint64_t i = 0; i < count; ++i) {
          all[i] += values[i];
          double &seen = worst[run >= runs / 2];
          seen = std::max(seen, std::abs(all[i] - exact[i]));
        }
      }
      if (ranks->ranks() == 1)
        EXPECT_LT(worst[1], 1e-9);
      else
        EXPECT_LE(worst[1], 1.5 * worst[0] + 1e-3) << kind << ", " << count;
      // Without feedback elements below their block's largest would never have come: 7 x 400.
      EXPECT_LT(worst[1], 7.0 * 400 / 4);
    }
}

// What is not a number reaches all ranks: a run that has diverged must not look finite.
TEST(CompressedSums, PassOnWhatIsNoNumber) {
  for (dlc_collective kind : {DLC_COLLECTIVE_SUM_ONE_BIT, DLC_COLLECTIVE_SUM_TOP_K}) {
    RecordSum sum(kind);
    std::vector<float> values(3000, 1), residual(3000);
    if (ranks->rank() == 0)
      values[2000] = std::numeric_limits<float>::quiet_NaN();
    const auto ticket =
        sum.start(*ranks, 0, DLC_F32, std::as_writable_bytes(std::span(values)), residual, nullptr);
    ASSERT_TRUE(ticket.ok() && ranks->wait(*ticket).ok());
    sum.finish();
    EXPECT_TRUE(std::isnan(values[2000]));
    EXPECT_EQ(values[0], ranks->ranks());
  }
}

// One step's overflow is over with it: the residuals are what they were, on all ranks, and the next
// sum is what it would have been without.
TEST(CompressedSums, ForgetWhatIsNotFinite) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  auto add = [](RecordSum &sum, std::vector<float> values, std::vector<float> &residual) {
    const auto ticket =
        sum.start(*ranks, 0, DLC_F32, std::as_writable_bytes(std::span(values)), residual, nullptr);
    EXPECT_TRUE(ticket.ok() && ranks->wait(*ticket).ok());
    sum.finish();
    return values;
  };
  for (dlc_collective kind : {DLC_COLLECTIVE_SUM_ONE_BIT, DLC_COLLECTIVE_SUM_TOP_K})
    for (float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
      RecordSum sum(kind);
      std::vector<float> residual(3000);
      add(sum, gradientOf(3000, ranks->rank(), 0), residual);
      const std::vector<float> before = residual;
      std::vector<float> values = gradientOf(3000, ranks->rank(), 1);
      if (ranks->rank() == 0)
        values[2000] = bad;
      values = add(sum, values, residual);
      EXPECT_TRUE(std::ranges::any_of(values, [](float value) { return !std::isfinite(value); }));
      EXPECT_EQ(residual, before);
      std::vector<float> other = before;
      RecordSum anew(kind);
      EXPECT_EQ(add(sum, gradientOf(3000, ranks->rank(), 2), residual),
                add(anew, gradientOf(3000, ranks->rank(), 2), other));
    }
}

TEST(CompressedSums, SendFewBytes) {
  EXPECT_EQ(bytesSent(DLC_COLLECTIVE_SUM, 4096), 4096u);
  EXPECT_EQ(bytesSent(DLC_COLLECTIVE_SUM_ONE_BIT, 4 * 1024), 136u);
  EXPECT_EQ(bytesSent(DLC_COLLECTIVE_SUM_ONE_BIT, 4 * 1033), 136u + 8 + 2);
  EXPECT_EQ(bytesSent(DLC_COLLECTIVE_SUM_TOP_K, 4 * 2048), 120u);
  EXPECT_EQ(bytesSent(DLC_COLLECTIVE_SUM_TOP_K, 4 * 2051), 120u + 3 * 6);
}

/// Runs body(transport) for each of this process's share of four ranks, on threads.
void amongFour(const std::function<void(Transport &)> &body) {
  std::vector<std::thread> threads;
  for (auto &rank : makeVirtualRanks(ranks, 4))
    threads.emplace_back([rank, &body] { body(*rank); });
  for (std::thread &thread : threads)
    thread.join();
}

// Whether one, two or four processes hold them, four ranks add up ((0 + 1) + (2 + 3)), to the bit;
// here 1e8 + 1 rounds to 1e8, so that the order shows.
TEST(VirtualRanks, AddUpInOneTree) {
  if (4 % ranks->ranks() != 0)
    return;
  auto valueOf = [](unsigned rank, uint64_t i) {
    return 1 / float(i % 97 + 3 + 11 * rank) * (i % 5 == rank ? 1e8f : 1);
  };
  amongFour([&](Transport &four) {
    EXPECT_EQ(four.ranks(), 4u);
    for (uint64_t count : {0, 1, 1000, 100000}) {
      std::vector<float> values(count);
      for (uint64_t i = 0; i < count; ++i)
        values[i] = valueOf(four.rank(), i);
      ASSERT_TRUE(
          four.run({Collective::Kind::Sum, 0, DLC_F32, std::as_writable_bytes(std::span(values))})
              .ok());
      uint64_t wrong = 0, inOrder = 0;
      for (uint64_t i = 0; i < count; ++i) {
        const float a = valueOf(0, i), b = valueOf(1, i), c = valueOf(2, i), d = valueOf(3, i);
        wrong += values[i] != (a + b) + (c + d);
        inOrder += values[i] == ((a + b) + c) + d;
      }
      EXPECT_EQ(wrong, 0u);
      if (count > 1)
        EXPECT_LT(inOrder, count) << "the order of sums cannot be seen";
    }
  });
}

// All that ranks do, they do as virtual ones; many collectives are under way at once.
TEST(VirtualRanks, DoWhatRanksDo) {
  if (4 % ranks->ranks() != 0)
    return;
  amongFour([&](Transport &four) {
    std::vector<std::vector<std::byte>> buffers;
    std::vector<Transport::Ticket> tickets;
    for (size_t i = 0; i < 20; ++i)
      buffers.push_back(valuesOf(floats[i % 4], i * i * 31, four.rank()));
    for (size_t i = 0; i < 20; ++i) {
      auto ticket = four.start(summing(floats[i % 4], buffers[i], uint32_t(i % channelCount)));
      ASSERT_TRUE(ticket.ok());
      tickets.push_back(*ticket);
    }
    for (size_t i = 0; i < 20; ++i) {
      const size_t other = (i * 7 + four.rank()) % 20;
      const dlc_dtype dtype = floats[other % 4];
      ASSERT_TRUE(four.wait(tickets[other]).ok());
      std::vector<std::byte> sum = valuesOf(dtype, other * other * 31, 0);
      for (unsigned rank = 1; rank < 4; ++rank)
        addElements(dtype, valuesOf(dtype, other * other * 31, rank).data(), sum.data(),
                    other * other * 31);
      EXPECT_EQ(buffers[other], sum) << other;
    }
    std::string text = four.rank() == 0 ? "said" : "mine";
    ASSERT_TRUE(four.broadcast(text).ok());
    EXPECT_EQ(text, "said");
    auto texts = four.gather(std::string(four.rank() * 5, char('a' + four.rank())));
    ASSERT_TRUE(texts.ok());
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ((*texts)[i], std::string(i * 5, char('a' + i)));
  });
}

// One that ends with an error ends the waits of its neighbours, and they say why.
TEST(VirtualRanks, EndTogether) {
  if (ranks->ranks() != 1)
    return;
  amongFour([&](Transport &four) {
    double one = 1;
    ASSERT_TRUE(four.sum(std::span(&one, 1)).ok());
    if (four.rank() == 2)
      return four.setReason("no more data");
    EXPECT_EQ(four.sum(std::span(&one, 1)).message(), "rank 2: no more data");
  });
}

TEST(VirtualRanks, RefusesWhatIsNoTree) {
  EXPECT_TRUE(checkVirtualRanks(8, 2).ok());
  EXPECT_EQ(checkVirtualRanks(6, 2).message(),
            "`deterministic`: expected a power of two up to 4096, found 6");
  EXPECT_EQ(checkVirtualRanks(8, 3).message(),
            "`deterministic`: 3 ranks cannot share 8 evenly: start 1, 2, 4, ... up to 8");
}

TEST(Launched, KnowsStarters) {
  static std::map<std::string, std::string> variables;
  auto get = [](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(launchedBy(get).ranks, 0u);
  variables = {{"SLURM_NTASKS", "4"}};
  EXPECT_EQ(launchedBy(get).ranks, 0u) << "a shell inside of an allocation";
  variables["SLURM_STEP_ID"] = "0";
  EXPECT_EQ(launchedBy(get).ranks, 4u);
  EXPECT_EQ(launchedBy(get).by, "srun");
  variables["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(launchedBy(get).ranks, 1u) << "salloc's shell, which is a step of its own";
  variables["SLURM_STEP_NUM_TASKS"] = "3";
  EXPECT_EQ(launchedBy(get).ranks, 3u) << "srun with fewer tasks than the allocation has";
  variables = {{"PMI_SIZE", "3"}};
  EXPECT_EQ(launchedBy(get).ranks, 3u);
  variables["OMPI_COMM_WORLD_SIZE"] = "2";
  EXPECT_EQ(launchedBy(get).ranks, 2u);
  EXPECT_EQ(launchedBy(get).by, "mpirun");
}

} // namespace
