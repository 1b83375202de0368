// What ranks carry from batch to batch, into a checkpoint and out of it; that they find where they
// differ, and make statistics their mean.
#include "runtime/Training/Ranks.h"
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Device/Device.h"
#include "test/lib/SmallModel/SmallModel.h"

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
  });
}

} // namespace
