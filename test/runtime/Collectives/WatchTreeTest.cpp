// Who watches whom, of jobs of any size.
#include "runtime/Collectives/WatchTree.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace dlc::runtime;

namespace {

/// Nodes of equally many ranks, one behind the other.
std::vector<uint64_t> nodesOf(unsigned ranks, unsigned perNode) {
  std::vector<uint64_t> nodes(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    nodes[rank] = 1000 - rank / perNode;
  return nodes;
}

struct Shape {
  unsigned most = 0, depth = 0, between = 0;
  explicit Shape(unsigned ranks, unsigned perNode) {
    const std::vector<uint64_t> nodes = nodesOf(ranks, perNode);
    const std::vector<unsigned> watchers = watchersOf(nodes);
    EXPECT_EQ(watchers[0], 0u);
    std::vector<unsigned> below(ranks);
    for (unsigned rank = 1; rank < ranks; ++rank) {
      EXPECT_LT(watchers[rank], rank);
      most = std::max(most, ++below[watchers[rank]]);
      between += nodes[rank] != nodes[watchers[rank]];
      unsigned steps = 1;
      for (unsigned at = rank; watchers[at] != 0; at = watchers[at])
        ++steps;
      depth = std::max(depth, steps);
    }
  }
};

// Rank 0 watches a few by itself, wherever they are.
TEST(WatchTree, IsFlatWhereRanksAreFew) {
  for (unsigned ranks : {1, 2, 64}) {
    const Shape shape(ranks, 8);
    EXPECT_EQ(shape.most, ranks - 1);
    EXPECT_LE(shape.depth, 1u);
  }
}

// One connection goes from each machine, and nobody has many.
TEST(WatchTree, GoesByMachines) {
  const Shape shape(4096, 64);
  EXPECT_EQ(shape.most, 63u + 63);
  EXPECT_EQ(shape.depth, 2u);
  EXPECT_EQ(shape.between, 63u);
}

// Machines of one rank each, and more of them than one rank may watch.
TEST(WatchTree, GroupsMachines) {
  const Shape one(4096, 1);
  EXPECT_EQ(one.most, 63u + 63);
  EXPECT_EQ(one.depth, 2u);
  const Shape most(300000, 1);
  EXPECT_LE(most.most, 4u * 63);
  EXPECT_EQ(most.depth, 4u);
  const Shape wide(256, 256);
  EXPECT_EQ(wide.most, 255u);
  EXPECT_EQ(wide.between, 0u);
}

// Ranks that go round the machines.
TEST(WatchTree, FindsMachinesInAnyOrder) {
  std::vector<uint64_t> nodes;
  for (unsigned rank = 0; rank < 100; ++rank)
    nodes.push_back(rank % 3);
  const std::vector<unsigned> watchers = watchersOf(nodes);
  for (unsigned rank = 3; rank < 100; ++rank)
    EXPECT_EQ(watchers[rank], rank % 3);
  EXPECT_EQ(watchers[1], 0u);
  EXPECT_EQ(watchers[2], 0u);
}

} // namespace
