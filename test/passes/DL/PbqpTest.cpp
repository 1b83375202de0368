//===- PbqpTest.cpp - the solver against trying everything ------------------------------------===//
//
// On random graphs that are small enough to try every choice. Costs are small integers, so that
// sums are exact.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Choice/Pbqp.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace dlc::dl;

static const double infinity = std::numeric_limits<double>::infinity();

namespace {
class RandomGraph {
public:
  /// One of `prohibited` costs in 100 is infinite.
  RandomGraph(unsigned seed, unsigned prohibited) : random(seed), prohibited(prohibited) {}

  unsigned pick(unsigned count) { return random() % count; }
  unsigned addNode() {
    std::vector<double> costs;
    for (unsigned i = 0, count = 1 + pick(4); i < count; ++i)
      costs.push_back(drawCost());
    return graph.addNode(std::move(costs));
  }
  void addEdge(unsigned a, unsigned b) {
    PbqpMatrix costs(graph.costsOf(a).size(), graph.costsOf(b).size());
    for (size_t i = 0; i < costs.rows(); ++i)
      for (size_t j = 0; j < costs.columns(); ++j)
        costs.at(i, j) = drawCost();
    graph.addEdge(a, b, costs);
    edges.push_back({a, b});
  }
  /// Every graph of two-terminal networks in series and in parallel, with trees attached to it, can
  /// come out.
  void drawSeriesParallel(unsigned nodes) {
    addNode(), addNode();
    addEdge(0, 1);
    while (graph.size() < nodes) {
      unsigned node = addNode();
      if (pick(4) == 0) {
        addEdge(pick(node), node);
        continue;
      }
      auto [a, b] = edges[pick(edges.size())];
      addEdge(a, node);
      addEdge(node, b);
    }
  }
  void drawAny(unsigned nodes) {
    for (unsigned i = 0; i < nodes; ++i)
      addNode();
    for (unsigned i = 0, count = nodes + pick(3 * nodes); i < count; ++i)
      if (unsigned a = pick(nodes), b = pick(nodes); a != b)
        addEdge(a, b);
  }

  PbqpGraph graph;

private:
  double drawCost() { return pick(100) < prohibited ? infinity : double(pick(50)); }

  std::mt19937 random;
  unsigned prohibited;
  std::vector<std::pair<unsigned, unsigned>> edges;
};
} // namespace

/// The lowest cost of all choices.
static double tryAll(const PbqpGraph &graph) {
  double best = infinity;
  std::vector<unsigned> choice(graph.size(), 0);
  while (true) {
    best = std::min(best, graph.costOf(choice));
    unsigned node = 0;
    while (node < choice.size() && ++choice[node] == graph.costsOf(node).size())
      choice[node++] = 0;
    if (node == choice.size())
      return best;
  }
}

// Series-parallel graphs need no heuristic, and nothing is cheaper than what comes out.
TEST(Pbqp, IsExactOnSeriesParallelGraphs) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    RandomGraph random(seed, /*prohibited=*/seed % 3 * 15);
    random.drawSeriesParallel(2 + seed % 7);
    std::optional<PbqpSolution> solution = solve(random.graph);
    double best = tryAll(random.graph);
    ASSERT_EQ(solution.has_value(), best < infinity) << "seed " << seed;
    if (!solution)
      continue;
    EXPECT_TRUE(solution->exact) << "seed " << seed;
    EXPECT_EQ(solution->cost, best) << "seed " << seed;
    EXPECT_EQ(random.graph.costOf(solution->choice), best) << "seed " << seed;
  }
}

// On any graph a solution is found if there is one, and what calls itself exact is. The heuristic
// finds the best of most, and on average stays within 1% of it.
TEST(Pbqp, FindsASolutionOfAnyGraph) {
  unsigned guessed = 0, best = 0, prohibited = 0;
  double excess = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    RandomGraph random(seed, /*prohibited=*/seed % 4 * 12);
    random.drawAny(5 + seed % 4);
    std::optional<PbqpSolution> solution = solve(random.graph);
    double least = tryAll(random.graph);
    prohibited += least == infinity;
    ASSERT_EQ(solution.has_value(), least < infinity) << "seed " << seed;
    if (!solution)
      continue;
    EXPECT_EQ(random.graph.costOf(solution->choice), solution->cost) << "seed " << seed;
    if (solution->exact) {
      EXPECT_EQ(solution->cost, least) << "seed " << seed;
      continue;
    }
    ++guessed;
    best += solution->cost == least;
    EXPECT_GE(solution->cost, least) << "seed " << seed;
    EXPECT_LE(solution->cost, 1.5 * least) << "seed " << seed;
    excess += least > 0 ? solution->cost / least - 1 : 0;
  }
  EXPECT_GT(guessed, 100u);
  EXPECT_GT(prohibited, 100u);
  EXPECT_GT(best, 0.8 * guessed);
  EXPECT_LT(excess / guessed, 0.01);
}

// Equal graphs have the same solution, also among equally cheap ones.
TEST(Pbqp, IsDeterministic) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    RandomGraph first(seed, 20), second(seed, 20);
    first.drawAny(40);
    second.drawAny(40);
    std::optional<PbqpSolution> a = solve(first.graph), b = solve(second.graph);
    ASSERT_EQ(a.has_value(), b.has_value());
    if (a)
      EXPECT_EQ(a->choice, b->choice);
  }
}

// A network of many layers takes no time to speak of: every node is looked at once.
TEST(Pbqp, SolvesLongChains) {
  RandomGraph random(1, 0);
  random.addNode();
  for (unsigned node = 1; node < 20000; ++node)
    random.addEdge(node - 1, random.addNode());
  std::optional<PbqpSolution> solution = solve(random.graph);
  ASSERT_TRUE(solution);
  EXPECT_TRUE(solution->exact);
}

// A node whose neighbours all agree must not be talked out of it by costs that all alternatives
// have: an edge that costs the same for every pair is none.
TEST(Pbqp, IgnoresEdgesThatCostTheSame) {
  PbqpGraph graph;
  for (unsigned node = 0; node < 5; ++node)
    graph.addNode({double(node), 2});
  PbqpMatrix same(2, 2);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j)
      same.at(i, j) = double(3 * i + j);
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = a + 1; b < 5; ++b)
      graph.addEdge(a, b, same);
  std::optional<PbqpSolution> solution = solve(graph);
  ASSERT_TRUE(solution);
  EXPECT_TRUE(solution->exact);
  EXPECT_EQ(solution->cost, tryAll(graph));
}
