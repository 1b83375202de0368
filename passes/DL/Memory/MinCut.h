//===- MinCut.h - the cheapest edges that part a source from a sink -----------------*- C++ -*-===//
//
// By Dinic's algorithm: Soviet Math. Doklady 11 (1970), 1277-1280. O(n^2 m) at worst; the graphs
// here are nearly chains, where it takes few rounds.
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

  unsigned addNode();
  /// Its number, for setCapacity.
  unsigned addEdge(unsigned from, unsigned to, int64_t capacity);
  void setCapacity(unsigned edge, int64_t capacity) { capacities[edge] = capacity; }
  /// The nodes on the sink's side of a minimum cut, of several the one with the fewest nodes there.
  std::vector<bool> cut(unsigned source, unsigned sink);

private:
  bool findLevels(unsigned source, unsigned sink);
  int64_t push(unsigned source, unsigned sink);

  // Of edges, each followed by the one back.
  std::vector<unsigned> ends;
  std::vector<int64_t> capacities;
  std::vector<int64_t> left; ///< of its capacity, what no flow takes
  std::vector<std::vector<unsigned>> leaving;
  std::vector<unsigned> level; ///< edges from the source; `far` where no path leads
  std::vector<size_t> next;    ///< the first edge of a node that may still lead on
  std::vector<unsigned> path, queue;
  static constexpr unsigned far = ~0u;
};

} // namespace dlc::dl

#endif
