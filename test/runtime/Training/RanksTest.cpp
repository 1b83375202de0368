// What ranks carry from batch to batch, into a checkpoint and out of it.
#include "runtime/Training/Ranks.h"
#include "runtime/Collectives/VirtualRanks.h"
#include "runtime/Device/Device.h"
#include "test/lib/SmallModel/SmallModel.h"

#include <functional>
#include <gtest/gtest.h>
#include <thread>

using namespace dlc::runtime;
using namespace dlc::test;

namespace {

/// The small model with its bucket's sum compressed.
struct Compressed {
  TemporaryFolder folder;
  explicit Compressed(uint32_t kind = DLC_COLLECTIVE_SUM_ONE_BIT) {
    PlanBuilder plan = smallParallelModel();
    for (dlc_record &record : plan.records)
      if (record.kind == DLC_RECORD_COLLECTIVE)
        record.index = kind;
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

} // namespace
