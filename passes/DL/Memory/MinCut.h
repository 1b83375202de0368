//===- MinCut.h - the cheapest edges that part a source from sinks ------------------*- C++ -*-===//
//
// By Dinic's algorithm: Soviet Math. Doklady 11 (1970), 1277-1280. O(n^2 m) at worst; the graphs
// here are nearly chains, where it takes few rounds. A cut leaves its flow behind, from which that
// of the same graph with more capacity, or with more sinks, goes on.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_MEMORY_MINCUT_H
#define DLC_PASSES_DL_MEMORY_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace dlc::dl {

class FlowGraph {
public:
  /// An edge that is never cut. Capacities of all others together stay below.
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 4;
  /// Of each edge and the one back, the capacity that no flow takes.
  using Flow = std::vector<int64_t>;

  unsigned addNode();
  size_t size() const { return firsts.size(); } ///< nodes
  /// Its number, for raise.
  unsigned addEdge(unsigned from, unsigned to, int64_t capacity);
  void raise(unsigned edge, int64_t by) { left[edge] += by; }
  const Flow &flow() const { return left; }
  /// Goes back to a flow of these edges, whose capacities are again those that they were then.
  void setFlow(const Flow &flow) { left = flow; }
  /// Adds to `sinkSide`, which has the sinks, the other nodes on that side of a minimum cut, of
  /// several the one with the fewest nodes there.
  void cut(unsigned source, std::vector<bool> &sinkSide);

private:
  bool findLevels(unsigned source, const std::vector<bool> &sinks);
  int64_t push(unsigned source);

  static constexpr unsigned none = ~0u;
  // Of edges, each followed by the one back: where they end, the next edge of the same node.
  std::vector<unsigned> ends, siblings;
  Flow left;
  // Of nodes.
  std::vector<unsigned> firsts; ///< an edge, or none
  std::vector<unsigned> level;  ///< edges to the nearest sink, or none where no path leads
  std::vector<unsigned> next;   ///< the first edge that may still lead on
  std::vector<unsigned> path, queue;
};

} // namespace dlc::dl

#endif
