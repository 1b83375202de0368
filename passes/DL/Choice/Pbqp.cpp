//===- Pbqp.cpp - see Pbqp.h ------------------------------------------------------------------===//
#include "passes/DL/Choice/Pbqp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cassert>
#include <cmath>
#include <limits>
#include <set>

using namespace llvm;

namespace dlc::dl {

static constexpr double infinity = std::numeric_limits<double>::infinity();

/// The first of equal ones, so that a solution does not depend on the machine.
static unsigned cheapest(ArrayRef<double> costs) {
  return llvm::min_element(costs) - costs.begin();
}

//===------------------------------------------------------------------------------------------===//
// Graph
//===------------------------------------------------------------------------------------------===//

unsigned PbqpGraph::addNode(std::vector<double> costs) {
  assert(!costs.empty() && "a node needs an alternative");
  nodes.push_back({std::move(costs), {}});
  return nodes.size() - 1;
}

void PbqpGraph::addEdge(unsigned a, unsigned b, const PbqpMatrix &costs) {
  assert(a != b && costs.rows() == nodes[a].costs.size() &&
         costs.columns() == nodes[b].costs.size());
  const unsigned low = std::min(a, b), high = std::max(a, b);
  auto [known, isNew] = nodes[low].edges.try_emplace(high, edges.size());
  if (isNew) {
    nodes[high].edges.try_emplace(low, edges.size());
    edges.push_back({low, high, PbqpMatrix(nodes[low].costs.size(), nodes[high].costs.size())});
  }
  PbqpMatrix &sum = edges[known->second].costs;
  for (size_t i = 0; i < costs.rows(); ++i)
    for (size_t j = 0; j < costs.columns(); ++j)
      (a == low ? sum.at(i, j) : sum.at(j, i)) += costs.at(i, j);
}

double PbqpGraph::costOf(ArrayRef<unsigned> choice) const {
  double sum = 0;
  for (auto [node, alternative] : llvm::zip_equal(nodes, choice))
    sum += node.costs[alternative];
  for (const Edge &edge : edges)
    sum += edge.costs.at(choice[edge.a], choice[edge.b]);
  return sum;
}

//===------------------------------------------------------------------------------------------===//
// Reductions
//===------------------------------------------------------------------------------------------===//

/// Takes a copy of a graph to pieces. A node that has been taken out keeps its costs and edges as
/// they were then, which say what it answers to its neighbours' choices.
class PbqpReducer {
public:
  explicit PbqpReducer(const PbqpGraph &original) : graph(original) {}
  PbqpSolution run();

private:
  ArrayRef<double> costsOf(unsigned node) const { return graph.nodes[node].costs; }
  std::vector<double> &costsOf(unsigned node) { return graph.nodes[node].costs; }
  size_t degree(unsigned node) const { return graph.nodes[node].edges.size(); }
  void disconnect(unsigned node, unsigned neighbour);
  void simplify(unsigned edge);
  void absorb(unsigned node, unsigned neighbour, unsigned edge);
  void join(unsigned node);
  void settle(unsigned node);
  void takeOut(unsigned node);

  PbqpGraph graph;
  std::set<std::pair<size_t, unsigned>> left; ///< nodes that are in the graph, by their degree
  std::vector<unsigned> order;                ///< nodes that are not, as they were taken out
  bool exact = true;
};

/// `neighbour` forgets `node`.
void PbqpReducer::disconnect(unsigned node, unsigned neighbour) {
  left.erase({degree(neighbour), neighbour});
  graph.nodes[neighbour].edges.erase(node);
  left.insert({degree(neighbour), neighbour});
}

/// Moves what rows or columns cost in any case to the nodes. An edge that costs nothing then is
/// none.
void PbqpReducer::simplify(unsigned edge) {
  auto &[a, b, costs] = graph.edges[edge];
  auto move = [](double least, double &target, size_t count, auto &&entry) {
    target += least;
    for (size_t i = 0; i < count; ++i)
      entry(i) = least == infinity ? 0 : entry(i) - least;
  };
  for (size_t i = 0; i < costs.rows(); ++i) {
    double least = infinity;
    for (size_t j = 0; j < costs.columns(); ++j)
      least = std::min(least, costs.at(i, j));
    move(least, costsOf(a)[i], costs.columns(),
         [&](size_t j) -> double & { return costs.at(i, j); });
  }
  bool isZero = true;
  for (size_t j = 0; j < costs.columns(); ++j) {
    double least = infinity;
    for (size_t i = 0; i < costs.rows(); ++i)
      least = std::min(least, costs.at(i, j));
    move(least, costsOf(b)[j], costs.rows(), [&](size_t i) -> double & { return costs.at(i, j); });
    for (size_t i = 0; i < costs.rows(); ++i)
      isZero &= costs.at(i, j) == 0;
  }
  if (isZero) {
    disconnect(a, b);
    disconnect(b, a);
  }
}

/// R1: `neighbour` pays for the best answer of `node`.
void PbqpReducer::absorb(unsigned node, unsigned neighbour, unsigned edge) {
  for (size_t j = 0; j < costsOf(neighbour).size(); ++j) {
    double least = infinity;
    for (size_t i = 0; i < costsOf(node).size(); ++i)
      least = std::min(least, costsOf(node)[i] + graph.edgeCost(edge, node, i, j));
    costsOf(neighbour)[j] += least;
  }
}

/// R2: an edge between the two neighbours pays for the best answer of `node`.
void PbqpReducer::join(unsigned node) {
  auto [first, firstEdge] = *graph.nodes[node].edges.begin();
  auto [second, secondEdge] = *graph.nodes[node].edges.rbegin();
  PbqpMatrix costs(costsOf(first).size(), costsOf(second).size());
  for (size_t i = 0; i < costs.rows(); ++i)
    for (size_t j = 0; j < costs.columns(); ++j) {
      double least = infinity;
      for (size_t k = 0; k < costsOf(node).size(); ++k)
        least = std::min(least, costsOf(node)[k] + graph.edgeCost(firstEdge, node, k, i) +
                                    graph.edgeCost(secondEdge, node, k, j));
      costs.at(i, j) = least;
    }
  for (unsigned neighbour : {first, second})
    left.erase({degree(neighbour), neighbour});
  graph.addEdge(first, second, costs);
  for (unsigned neighbour : {first, second})
    left.insert({degree(neighbour), neighbour});
  simplify(graph.nodes[first].edges.at(second));
}

/// RN: takes what is best if every neighbour only thinks of itself and of this node.
void PbqpReducer::settle(unsigned node) {
  exact = false;
  std::vector<double> sums(costsOf(node));
  for (size_t i = 0; i < sums.size(); ++i)
    for (auto [neighbour, edge] : graph.nodes[node].edges) {
      double least = infinity;
      for (size_t j = 0; j < costsOf(neighbour).size(); ++j)
        least = std::min(least, costsOf(neighbour)[j] + graph.edgeCost(edge, node, i, j));
      sums[i] += least;
    }
  const unsigned choice = cheapest(sums);
  for (auto [i, cost] : llvm::enumerate(costsOf(node)))
    cost = i == choice ? 0 : infinity;
  for (auto [neighbour, edge] : graph.nodes[node].edges)
    absorb(node, neighbour, edge);
}

void PbqpReducer::takeOut(unsigned node) {
  left.erase({degree(node), node});
  auto &edges = graph.nodes[node].edges;
  if (edges.size() == 1)
    absorb(node, edges.begin()->first, edges.begin()->second);
  if (edges.size() > 2)
    settle(node);
  for (auto [neighbour, edge] : edges)
    disconnect(node, neighbour);
  if (edges.size() == 2)
    join(node);
  order.push_back(node);
}

PbqpSolution PbqpReducer::run() {
  for (unsigned node = 0; node < graph.size(); ++node)
    left.insert({degree(node), node});
  for (unsigned edge = 0, count = graph.edges.size(); edge < count; ++edge)
    simplify(edge);
  while (!left.empty())
    takeOut(left.begin()->first <= 2 ? left.begin()->second : left.rbegin()->second);
  PbqpSolution solution;
  solution.exact = exact;
  solution.choice.resize(graph.size());
  for (unsigned node : llvm::reverse(order)) {
    std::vector<double> costs(costsOf(node));
    for (auto [neighbour, edge] : graph.nodes[node].edges)
      for (size_t i = 0; i < costs.size(); ++i)
        costs[i] += graph.edgeCost(edge, node, i, solution.choice[neighbour]);
    solution.choice[node] = cheapest(costs);
  }
  return solution;
}

//===------------------------------------------------------------------------------------------===//
// Improvement
//===------------------------------------------------------------------------------------------===//

namespace {
/// Changes a choice that costs a finite amount, step by step, always to a cheaper one.
class Improver {
public:
  Improver(const PbqpGraph &graph, std::vector<unsigned> &choice) : graph(graph), choice(choice) {}
  void run();

private:
  /// What the alternatives of `node` cost beside its neighbours' choices, without `except`.
  std::vector<double> pricesAt(unsigned node, std::optional<unsigned> except = std::nullopt) const;
  bool improveNode(unsigned node);
  bool improvePair(unsigned a, unsigned b, unsigned edge);

  const PbqpGraph &graph;
  std::vector<unsigned> &choice;
};
} // namespace

/// More than the rounding of sums, so that no two choices take turns.
static bool isCheaper(double cost, double than) { return cost < than - 1e-9 * std::abs(than); }

std::vector<double> Improver::pricesAt(unsigned node, std::optional<unsigned> except) const {
  std::vector<double> prices(graph.costsOf(node));
  for (auto [neighbour, edge] : graph.edgesOf(node))
    if (neighbour != except)
      for (size_t i = 0; i < prices.size(); ++i)
        prices[i] += graph.edgeCost(edge, node, i, choice[neighbour]);
  return prices;
}

bool Improver::improveNode(unsigned node) {
  std::vector<double> prices = pricesAt(node);
  const unsigned best = cheapest(prices);
  if (!isCheaper(prices[best], prices[choice[node]]))
    return false;
  choice[node] = best;
  return true;
}

bool Improver::improvePair(unsigned a, unsigned b, unsigned edge) {
  std::vector<double> ofA = pricesAt(a, b), ofB = pricesAt(b, a);
  auto price = [&](unsigned i, unsigned j) {
    return ofA[i] + ofB[j] + graph.edgeCost(edge, a, i, j);
  };
  bool changed = false;
  for (unsigned i = 0; i < ofA.size(); ++i)
    for (unsigned j = 0; j < ofB.size(); ++j)
      if (isCheaper(price(i, j), price(choice[a], choice[b]))) {
        choice[a] = i, choice[b] = j;
        changed = true;
      }
  return changed;
}

void Improver::run() {
  bool changed = true;
  while (std::exchange(changed, false)) {
    for (unsigned node = 0; node < graph.size(); ++node)
      changed |= improveNode(node);
    for (unsigned node = 0; node < graph.size(); ++node)
      for (auto [neighbour, edge] : graph.edgesOf(node))
        if (node < neighbour)
          changed |= improvePair(node, neighbour, edge);
  }
}

//===------------------------------------------------------------------------------------------===//
// Search for any solution
//===------------------------------------------------------------------------------------------===//

namespace {
/// Looks for a choice of finite cost, depth first: the node with the fewest alternatives left is
/// next, and what it takes strikes out its neighbours' alternatives that do not go with it.
class Search {
public:
  explicit Search(const PbqpGraph &graph);
  std::optional<std::vector<unsigned>> run();

private:
  bool descend(unsigned depth);
  bool strikeOut(unsigned node, unsigned depth);
  std::optional<unsigned> nextNode() const;

  static constexpr unsigned untouched = ~0u;
  const PbqpGraph &graph;
  std::vector<std::optional<unsigned>> choice;
  std::vector<std::vector<unsigned>> struckAt; ///< depth at which an alternative went
};
} // namespace

Search::Search(const PbqpGraph &graph) : graph(graph), choice(graph.size()) {
  for (unsigned node = 0; node < graph.size(); ++node) {
    std::vector<unsigned> &mine = struckAt.emplace_back();
    for (double cost : graph.costsOf(node))
      mine.push_back(cost == infinity ? 0 : untouched);
  }
}

std::optional<unsigned> Search::nextNode() const {
  std::optional<unsigned> best;
  size_t fewest = 0;
  for (unsigned node = 0; node < graph.size(); ++node)
    if (size_t count = llvm::count(struckAt[node], untouched);
        !choice[node] && (!best || count < fewest)) {
      best = node;
      fewest = count;
    }
  return best;
}

/// False if a neighbour has no alternative left.
bool Search::strikeOut(unsigned node, unsigned depth) {
  for (auto [neighbour, edge] : graph.edgesOf(node)) {
    std::vector<unsigned> &struck = struckAt[neighbour];
    for (size_t j = 0; j < struck.size(); ++j)
      if (struck[j] == untouched && graph.edgeCost(edge, node, *choice[node], j) == infinity)
        struck[j] = depth;
    if (!choice[neighbour] && !llvm::is_contained(struck, untouched))
      return false;
  }
  return true;
}

bool Search::descend(unsigned depth) {
  std::optional<unsigned> node = nextNode();
  if (!node)
    return true;
  for (size_t i = 0; i < struckAt[*node].size(); ++i) {
    if (struckAt[*node][i] != untouched)
      continue;
    choice[*node] = i;
    if (strikeOut(*node, depth) && descend(depth + 1))
      return true;
    for (std::vector<unsigned> &struck : struckAt)
      llvm::replace(struck, depth, untouched);
  }
  choice[*node] = std::nullopt;
  return false;
}

std::optional<std::vector<unsigned>> Search::run() {
  if (!descend(/*depth=*/1))
    return std::nullopt;
  std::vector<unsigned> found;
  for (std::optional<unsigned> alternative : choice)
    found.push_back(*alternative);
  return found;
}

std::optional<PbqpSolution> solve(const PbqpGraph &graph) {
  PbqpSolution solution = PbqpReducer(graph).run();
  solution.cost = graph.costOf(solution.choice);
  if (!solution.exact) {
    if (solution.cost == infinity) {
      std::optional<std::vector<unsigned>> found = Search(graph).run();
      if (!found)
        return std::nullopt;
      solution.choice = std::move(*found);
    }
    Improver(graph, solution.choice).run();
    solution.cost = graph.costOf(solution.choice);
  }
  if (solution.cost == infinity)
    return std::nullopt;
  return solution;
}

} // namespace dlc::dl
