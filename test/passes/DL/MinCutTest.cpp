//===- MinCutTest.cpp - cuts against trying every one -----------------------------------------===//
//
// On random graphs that are small enough to try every partition.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Memory/MinCut.h"
#include <bit>
#include <gtest/gtest.h>
#include <random>

using namespace dlc::dl;

namespace {
struct Edge {
  unsigned from, to;
  int64_t capacity;
};

/// A graph of at most `most` nodes; 0 is the source and 1 the sink.
struct RandomGraph {
  RandomGraph(unsigned seed, unsigned most) {
    std::mt19937 random(seed);
    nodes = 2 + random() % (most - 1);
    for (unsigned i = 0, count = random() % (3 * nodes); i < count; ++i)
      edges.push_back(
          {unsigned(random() % nodes), unsigned(random() % nodes), int64_t(random() % 6)});
  }
  /// Bit i: node i is on the sink's side.
  int64_t costOf(unsigned sinkSide) const {
    int64_t cost = 0;
    for (const Edge &edge : edges)
      cost += (sinkSide >> edge.from & 1) == 0 && (sinkSide >> edge.to & 1) ? edge.capacity : 0;
    return cost;
  }

  unsigned nodes;
  std::vector<Edge> edges;
};

std::vector<bool> cut(FlowGraph &graph, unsigned source, unsigned sink) {
  std::vector<bool> sinkSide(graph.size());
  sinkSide[sink] = true;
  graph.cut(source, sinkSide);
  return sinkSide;
}
} // namespace

// The cut costs as little as any, and of those that cost as little it leaves the fewest nodes to
// the sink.
TEST(MinCutTest, AgreesWithTryingAll) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomGraph random(seed, 9);
    FlowGraph graph;
    for (unsigned i = 0; i < random.nodes; ++i)
      graph.addNode();
    for (const Edge &edge : random.edges)
      graph.addEdge(edge.from, edge.to, edge.capacity);
    std::vector<bool> found = cut(graph, 0, 1);
    unsigned sinkSide = 0;
    for (unsigned i = 0; i < random.nodes; ++i)
      sinkSide |= unsigned(found[i]) << i;
    ASSERT_EQ(sinkSide & 3, 2u) << "seed " << seed;
    for (unsigned other = 0; other < 1u << random.nodes; ++other) {
      if ((other & 3) != 2)
        continue;
      ASSERT_LE(random.costOf(sinkSide), random.costOf(other)) << "seed " << seed;
      if (random.costOf(other) == random.costOf(sinkSide)) {
        ASSERT_LE(std::popcount(sinkSide), std::popcount(other)) << "seed " << seed;
      }
    }
  }
}

// A flow that is taken up again, where edges of the source hold more, ends at the same cut as a new
// one; also where what is on the sink's side with still more stands among the sinks.
TEST(MinCutTest, GoesOn) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomGraph random(seed, 30);
    auto build = [&](int64_t more, std::vector<unsigned> &ofSource) {
      FlowGraph graph;
      for (unsigned i = 0; i < random.nodes; ++i)
        graph.addNode();
      for (const Edge &edge : random.edges) {
        unsigned number =
            graph.addEdge(edge.from, edge.to, edge.capacity + (edge.from == 0 ? more : 0));
        if (edge.from == 0)
          ofSource.push_back(number);
      }
      return graph;
    };
    std::vector<unsigned> ofSource, same;
    FlowGraph graph = build(0, ofSource);
    cut(graph, 0, 1);
    const FlowGraph::Flow flow = graph.flow();
    auto raised = [&](int64_t more) {
      graph.setFlow(flow);
      for (unsigned edge : ofSource)
        graph.raise(edge, more);
      return &graph;
    };
    FlowGraph some = build(2, same), much = build(4, same);
    std::vector<bool> ofSome = cut(some, 0, 1), ofMuch = cut(*raised(4), 0, 1);
    ASSERT_EQ(ofMuch, cut(much, 0, 1)) << "seed " << seed;
    ASSERT_EQ(ofSome, cut(*raised(2), 0, 1)) << "seed " << seed;
    raised(2)->cut(0, ofMuch);
    ASSERT_EQ(ofSome, ofMuch) << "seed " << seed;
  }
}

// What is unlimited is not cut, however much the others cost together.
TEST(MinCutTest, CutsBehindUnlimitedEdges) {
  FlowGraph graph;
  unsigned source = graph.addNode(), sink = graph.addNode(), a = graph.addNode(),
           b = graph.addNode();
  graph.addEdge(source, a, FlowGraph::unlimited);
  graph.addEdge(source, b, 7);
  graph.addEdge(a, sink, int64_t(1) << 50);
  graph.addEdge(b, sink, FlowGraph::unlimited);
  EXPECT_EQ(cut(graph, source, sink), (std::vector<bool>{false, true, false, true}));
}

// A chain of 100,000 nodes takes no recursion.
TEST(MinCutTest, LongChain) {
  FlowGraph graph;
  const unsigned length = 100000;
  for (unsigned i = 0; i < length; ++i)
    graph.addNode();
  for (unsigned i = 0; i + 1 < length; ++i)
    graph.addEdge(i, i + 1, i == length / 2 ? 1 : 2);
  std::vector<bool> sinkSide = cut(graph, 0, length - 1);
  EXPECT_FALSE(sinkSide[length / 2]);
  EXPECT_TRUE(sinkSide[length / 2 + 1]);
}
