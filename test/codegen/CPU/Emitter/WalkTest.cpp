//===- WalkTest.cpp - how an index space is split into tasks ----------------------------------===//
#include "codegen/CPU/Emitter/Walk.h"
#include <gtest/gtest.h>

using namespace dlc::codegen;

static CpuTarget target(unsigned vectorBytes) {
  CpuTarget target;
  target.vectorBytes = vectorBytes;
  return target;
}

/// Spaces with one long axis, with many rows, with sizes that nothing divides.
static const llvm::SmallVector<int64_t> spaces[] = {
    {1}, {7}, {1000003}, {1, 5}, {64, 1000}, {3, 17, 100003}, {100003, 3}, {2, 3, 5, 7}};

/// All tasks together take each row and each piece of it once, and none is empty.
TEST(WalkPlan, TasksCoverTheSpaceOnce) {
  for (unsigned vectorBytes : {32u, 64u})
    for (double weight : {1.0, 40.0})
      for (const auto &space : spaces) {
        const WalkPlan plan = WalkPlan::get(space, weight, target(vectorBytes));
        const int64_t rows = (plan.outer() + plan.rows - 1) / plan.rows;
        EXPECT_EQ(plan.tasks(), rows * plan.chunks()) << textOf(plan);
        EXPECT_LT((rows - 1) * plan.rows, plan.outer()) << textOf(plan);
        EXPECT_LT((plan.chunks() - 1) * plan.chunk, plan.inner()) << textOf(plan);
        EXPECT_GE(plan.chunks() * plan.chunk, plan.inner()) << textOf(plan);
        // Where a row is cut, each piece but the last is whole steps.
        if (plan.chunks() > 1)
          EXPECT_EQ(plan.chunk % (plan.width * plan.unroll), 0) << textOf(plan);
      }
}

/// Little work is one task; much is many, of rows where there are enough of them.
TEST(WalkPlan, TasksAreWorthBeginning) {
  EXPECT_EQ(WalkPlan::get({64, 64}, 1, target(32)).tasks(), 1u);
  const WalkPlan rows = WalkPlan::get({4096, 1024}, 1, target(32));
  EXPECT_EQ(rows.chunks(), 1);
  EXPECT_GT(rows.tasks(), 64u);
  const WalkPlan one = WalkPlan::get({1 << 22}, 1, target(32));
  EXPECT_GT(one.chunks(), 64);
}

/// No wider than the row, nor than a vector.
TEST(WalkPlan, VectorsFitTheRow) {
  EXPECT_EQ(WalkPlan::get({100, 3}, 1, target(64)).width, 4);
  EXPECT_EQ(WalkPlan::get({100, 1000}, 1, target(32)).width, 8);
  EXPECT_EQ(WalkPlan::get({100, 1000}, 1, target(64)).width, 16);
  EXPECT_EQ(WalkPlan::get({100, 16}, 1, target(32)).unroll, 2);
}
