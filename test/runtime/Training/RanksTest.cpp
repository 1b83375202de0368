// What ranks carry from batch to batch, into a checkpoint and out of it; that they find where they
// differ, and make statistics their mean.
#include "runtime/Training/Ranks.h"
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Device/Device.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// A module that some ranks have.
struct Among {
  TemporaryFolder folder;
  explicit Among(const PlanBuilder &plan) {
    writeFile(folder.path("x.so"), moduleWith(plan.blob()));
  }

  /// Runs body(ranks, state) on `count` ranks, each on a thread.
  void among(unsigned count, const std::function<void(Transport &, State &)> &body) {
    std::vector<std::thread> threads;
    for (auto &ranks : makeVirtualRanks(selfTransport(), count))
      threads.emplace_back([this, ranks, &body] {
        auto device = openCpu({.threads = 1}).take();
        device->join(ranks);
        auto state = State::create(Module::load(folder.path("x.so")).take(), device, 3).take();
        body(*ranks, *state);
      });
    for (std::thread &thread : threads)
      thread.join();
  }
};

/// The small model with its bucket's sum compressed.
struct Compressed : Among {
  explicit Compressed(uint32_t kind = DLC_COLLECTIVE_SUM_ONE_BIT) : Among(planWith(kind)) {}

  static PlanBuilder planWith(uint32_t kind) {
    PlanBuilder plan = smallParallelModel();
    for (dlc_record &record : plan.records)
      if (record.kind == DLC_RECORD_COLLECTIVE)
        record.index = kind;
    return plan;
  }

  /// Writes a checkpoint of `count` ranks.
  void save(unsigned count) {
    among(count, [&](Transport &ranks, State &state) {
      const std::span<float> residual = residualOf(state);
      for (size_t i = 0; i < residual.size(); ++i)
        residual[i] = valueAt(i, ranks.rank());
      auto all = gatherStates(ranks, state);
      ASSERT_TRUE(all.ok()) << all.status().message();
      if (ranks.rank() == 0)
        EXPECT_TRUE(saveVariablesOf(state, *all, checkpoint(), {}).ok());
    });
  }

  std::string checkpoint() const { return folder.path("checkpoint"); }

  static float valueAt(size_t i, unsigned rank) { return 0.37f * float(i) - 5 * float(rank); }

  /// Of the only sum; empty if there is none.
  static std::span<float> residualOf(State &state) {
    for (const Carried &carried : carriedBy(state))
      if (carried.isResidual)
        return state.residual(carried.index);
    return {};
  }
};

// As many ranks take what they carried, each its own.
TEST(Ranks, TakeTheirResiduals) {
  Compressed model;
  model.save(2);
  model.among(2, [&](Transport &ranks, State &state) {
    CarriedStates all;
    if (ranks.rank() == 0)
      all = loadCarried(state, model.checkpoint(), 2).take();
    EXPECT_EQ(hasResiduals(state, all), ranks.rank() == 0);
    ASSERT_TRUE(scatterStates(ranks, all, state).ok());
    const std::span<float> residual = Compressed::residualOf(state);
    ASSERT_FALSE(residual.empty());
    for (size_t i = 0; i < residual.size(); ++i)
      ASSERT_EQ(residual[i], Compressed::valueAt(i, ranks.rank()));
  });
  // A file of several ranks is a model's file like any other.
  auto state = State::create(Module::load(model.folder.path("x.so")).take(), openCpu({}).take(), 1);
  EXPECT_TRUE(loadVariables(**state, model.checkpoint(), LoadMode::Everything).ok());
}

// Other numbers of ranks take the mean: rank 0 had 0.37 i, rank 1 0.37 i - 5.
TEST(Ranks, ShareResidualsOfAnotherNumber) {
  Compressed model;
  model.save(2);
  for (unsigned count : {1, 4})
    model.among(count, [&](Transport &ranks, State &state) {
      CarriedStates all;
      if (ranks.rank() == 0)
        all = loadCarried(state, model.checkpoint(), 2).take();
      ASSERT_TRUE(shareResiduals(ranks, all, state).ok());
      const std::span<float> residual = Compressed::residualOf(state);
      EXPECT_EQ(residual.empty(), ranks.ranks() == 1);
      for (size_t i = 0; i < residual.size(); ++i)
        ASSERT_FLOAT_EQ(residual[i], Compressed::valueAt(i, 0) - 2.5f);
    });
}

// A checkpoint of exact sums, or of one rank, has no residuals: they begin with nothing.
TEST(Ranks, BeginWithoutResiduals) {
  Compressed exact(DLC_COLLECTIVE_SUM), model;
  exact.save(2);
  model.among(2, [&](Transport &ranks, State &state) {
    CarriedStates all;
    if (ranks.rank() == 0)
      all = loadCarried(state, exact.checkpoint(), 2).take();
    EXPECT_FALSE(hasResiduals(state, all));
    ASSERT_TRUE(scatterStates(ranks, all, state).ok());
    for (float left : Compressed::residualOf(state))
      ASSERT_EQ(left, 0);
  });
}

/// What each of several ranks of this machine says of its threads.
static std::vector<unsigned> threadsOf(const std::vector<Processors> &own) {
  std::vector<unsigned> found(own.size());
  std::vector<std::thread> threads;
  for (auto &ranks : makeVirtualRanks(selfTransport(), unsigned(own.size())))
    threads.emplace_back([&own, &found, ranks] {
      found[ranks->rank()] = *threadsOfRank(*ranks, own[ranks->rank()]);
    });
  for (std::thread &thread : threads)
    thread.join();
  return found;
}

// Ranks divide the cores that they have in common, and the time of the group that they are in.
TEST(Ranks, ShareProcessors) {
  using Threads = std::vector<unsigned>;
  const Processors whole{{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3}};
  EXPECT_EQ(threadsOf({whole}), (Threads{4}));
  EXPECT_EQ(threadsOf({whole, whole}), (Threads{2, 2}));
  EXPECT_EQ(threadsOf({whole, whole, whole, whole, whole}), (Threads{1, 1, 1, 1, 1}));
  // Bound to cores of their own.
  const Processors low{{0, 1}, {0, 1}}, high{{2, 3}, {2, 3}};
  EXPECT_EQ(threadsOf({low, high}), (Threads{2, 2}));
  EXPECT_EQ(threadsOf({low, high, whole}), (Threads{1, 1, 1}));
  // Bound to the two hyper-threads of a core.
  EXPECT_EQ(threadsOf({{{0}, {0}}, {{4}, {0}}}), (Threads{1, 1}));
  // Bound, but in one group with the time of two processors; or in groups of their own.
  auto limited = [](Processors rank, double quota, uint64_t group) {
    rank.quota = quota;
    rank.quotaGroup = group;
    return rank;
  };
  EXPECT_EQ(threadsOf({limited(low, 2, 7), limited(high, 2, 7)}), (Threads{1, 1}));
  EXPECT_EQ(threadsOf({limited(low, 2, 7), limited(high, 2, 8)}), (Threads{2, 2}));
  EXPECT_EQ(threadsOf({limited(low, 1, 7), high}), (Threads{1, 2}));
}

/// Counts what goes over the ranks of another transport.
struct Counted : Transport {
  explicit Counted(std::shared_ptr<Transport> ranks) : inner(std::move(ranks)) {}
  std::shared_ptr<Transport> inner;
  uint64_t collectives = 0, bytes = 0;
  std::string_view name() const override { return inner->name(); }
  unsigned rank() const override { return inner->rank(); }
  unsigned ranks() const override { return inner->ranks(); }
  Result<Ticket> start(const Collective &collective) override {
    ++collectives;
    bytes += collective.buffer.size();
    return inner->start(collective);
  }
  Status wait(Ticket ticket) override { return inner->wait(ticket); }
  Status leave() override { return inner->leave(); }
};

/// What each of some ranks hears, where rank r says that `own(r)` went so and has these facts; and
/// what that took.
struct Agreement {
  std::vector<std::string> messages;
  uint64_t collectives = 0, bytes = 0;
};
static Agreement agreementOf(unsigned count, const std::function<Status(unsigned)> &own,
                             const std::function<Facts(unsigned)> &facts) {
  Agreement found;
  found.messages.resize(count);
  std::vector<std::thread> threads;
  for (auto &ranks : makeVirtualRanks(selfTransport(), count))
    threads.emplace_back([&found, &own, &facts, ranks] {
      Counted counted(ranks);
      const unsigned rank = ranks->rank();
      found.messages[rank] = agree(counted, own(rank), facts(rank)).message();
      if (rank == 0) {
        found.collectives = counted.collectives;
        found.bytes = counted.bytes;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return found;
}

// Where all is well what goes over the ranks depends neither on their number nor on that of facts.
// Where it is not each rank hears of all.
TEST(Ranks, AgreeCheaply) {
  auto well = [](unsigned) { return Status(); };
  auto facts = [](unsigned) { return Facts(40, {"a fact", std::string(1000, 'x')}); };
  for (unsigned count : {2, 64}) {
    const Agreement found = agreementOf(count, well, facts);
    EXPECT_EQ(found.messages, std::vector<std::string>(count));
    EXPECT_EQ(found.collectives, 2u);
    EXPECT_EQ(found.bytes, 24u);
  }
  auto others = [](unsigned rank) {
    return Facts{{"`seed`", "1"}, {"`epochs`", rank % 2 == 1 ? "3" : "2"}};
  };
  EXPECT_EQ(
      agreementOf(4, well, others).messages,
      std::vector<std::string>(4, "the ranks differ: ranks 1, 3 have `epochs` 3, rank 0 has 2"));
  // What is cut elsewhere is another fact.
  auto cut = [](unsigned rank) {
    return rank == 0 ? Facts{{"a", "1"}, {"b", "23"}} : Facts{{"a", "12"}, {"b", "3"}};
  };
  EXPECT_EQ(agreementOf(2, well, cut).messages[1],
            "the ranks differ: rank 1 has a 12, rank 0 has 1; rank 1 has b 3, rank 0 has 23");
  for (unsigned failed : {1u, 2u, 4u}) {
    auto some = [&](unsigned rank) {
      return rank < failed ? Status(StatusCode::Io, "no file") : Status();
    };
    const std::string expected = failed == 1   ? "rank 0: no file"
                                 : failed == 2 ? "ranks 0, 1: no file"
                                               : "no file";
    EXPECT_EQ(agreementOf(4, some, others).messages, std::vector<std::string>(4, expected));
  }
}

// Each of many ranks receives the part of each other, exact sums twice their bytes at most.
TEST(Ranks, KnowWhereCompressionDoesNotPay) {
  auto warningOf = [](dlc_collective kind, unsigned ranks) {
    Compressed model(kind);
    return compressionWarning(Module::load(model.folder.path("x.so")).take()->plan(), ranks);
  };
  EXPECT_EQ(warningOf(DLC_COLLECTIVE_SUM, 4096), "");
  EXPECT_EQ(warningOf(DLC_COLLECTIVE_SUM_ONE_BIT, 4), "");
  EXPECT_EQ(warningOf(DLC_COLLECTIVE_SUM_ONE_BIT, 32), "");
  EXPECT_EQ(warningOf(DLC_COLLECTIVE_SUM_ONE_BIT, 4096),
            "compressed sums move 128.0 times the bytes of exact ones among 4096 ranks; they save "
            "some among up to 32");
  EXPECT_EQ(warningOf(DLC_COLLECTIVE_SUM_TOP_K, 10),
            "compressed sums move 1.1 times the bytes of exact ones among 10 ranks; they save some "
            "among up to 9");
}

/// Adds to the first number of a variable.
static void addTo(State &state, size_t variable, float amount) {
  std::vector<std::byte> value(state.module()->plan().variables[variable].type.logicalBytes());
  ASSERT_TRUE(state.read(variable, value).ok());
  storeElement(DLC_F32, loadElement(DLC_F32, value.data()) + amount, value.data());
  ASSERT_TRUE(state.write(variable, value).ok());
}

// All ranks hear which of them have which parameters of their own; slots are not compared.
TEST(Ranks, FindOtherParameters) {
  Among model(smallParallelModel());
  model.among(4, [&](Transport &ranks, State &state) {
    constexpr size_t weight = 0, bias = 1, velocity = 2;
    addTo(state, velocity, float(ranks.rank()));
    EXPECT_TRUE(compareParameters(ranks, state).ok());
    if (ranks.rank() == 2)
      addTo(state, bias, 1);
    EXPECT_EQ(compareParameters(ranks, state).message(),
              "rank 2 has other parameters than rank 0: linear1.bias");
    if (ranks.rank() == 3)
      addTo(state, weight, 0x1p-20f);
    EXPECT_EQ(compareParameters(ranks, state).message(),
              "ranks 2, 3 have other parameters than rank 0: linear1.bias, linear1.weight");
  });
}

// A statistic becomes the mean of what the ranks have, on all of them; what else there is stays.
TEST(Ranks, AverageStatistics) {
  constexpr size_t statistic = 2, slot = 3;
  PlanBuilder plan = smallParallelModel();
  plan.variables[statistic].role = DLC_ROLE_STATISTIC;
  plan.variables[statistic].of = DLC_NONE;
  Among model(plan);
  model.among(4, [&](Transport &ranks, State &state) {
    addTo(state, statistic, float(1u << ranks.rank()));
    addTo(state, slot, float(ranks.rank()));
    ASSERT_TRUE(averageStatistics(ranks, state).ok());
    auto first = [&](size_t variable) {
      std::vector<std::byte> value(state.module()->plan().variables[variable].type.logicalBytes());
      EXPECT_TRUE(state.read(variable, value).ok());
      return loadElement(DLC_F32, value.data());
    };
    EXPECT_EQ(first(statistic), (1 + 2 + 4 + 8) / 4.0);
    EXPECT_EQ(first(slot), ranks.rank());
    // Over those that count; what another has may be anything.
    addTo(state, statistic, ranks.rank() < 2 ? float(ranks.rank()) : NAN);
    ASSERT_TRUE(averageStatistics(ranks, state, ranks.rank() < 2 ? 1 : 0, 2).ok());
    EXPECT_EQ(first(statistic), 15 / 4.0 + 0.5);
  });
}

} // namespace
