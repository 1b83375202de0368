//===- MinCut.h - the cheapest edges that part a source from a sink -----------------*- C++ -*-===//
//
// By Dinic's algorithm: Soviet Math. Doklady 11 (1970), 1277-1280. O(n^2 m) at worst; the graphs
// here are nearly chains, where it takes few rounds.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_MINCUT_H
#define DLC_PASSES_DL_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace dlc::dl {

class FlowGraph {
public:
  /// An edge that is never cut. Capacities of all others together stay below.
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max() / 4;

  unsigned addNode();
  void addEdge(unsigned from, unsigned to, int64_t capacity);
  /// The nodes on the sink's side of a minimum cut, of several the one with the fewest nodes there.
  /// May be called once.
  std::vector<bool> cut(unsigned source, unsigned sink);

private:
  struct Edge {
    unsigned to;
    int64_t left; ///< capacity that no flow takes
  };

  bool findLevels(unsigned source, unsigned sink);
  int64_t push(unsigned source, unsigned sink);

  std::vector<Edge> edges; ///< each followed by the one back
  std::vector<std::vector<unsigned>> leaving;
  std::vector<unsigned> level; ///< edges from the source; `far` where no path leads
  std::vector<size_t> next;    ///< the first edge of a node that may still lead on
  static constexpr unsigned far = ~0u;
};

} // namespace dlc::dl

#endif
