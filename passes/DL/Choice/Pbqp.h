//===- Pbqp.h - partitioned boolean quadratic programming ---------------------------*- C++ -*-===//
//
// Every node takes one of its alternatives. The price is the sum of what each alternative costs at
// its node and of what each pair of alternatives costs along an edge; infinite means that it must
// not be.
//
// A node with at most two neighbours is taken out of the graph together with its best answer to
// all that these may choose (R0, R1, R2 of Scholz and Eckstein, LCTES 2002). Series-parallel graphs
// vanish so, and the solution is a cheapest one (Anderson and Gregg, CGO 2018). Where all nodes
// that are left have three neighbours or more, the one with the most is settled by what its
// neighbours would answer on their own (RN), and the result is improved by changing single nodes
// and pairs of neighbours until neither helps.
//
// llvm/CodeGen/PBQP has a graph and R1 and R2, but no solver, which is the register allocator's own
// and private; it computes in float, in which a microsecond disappears beside a network's seconds,
// and looks for an edge by walking over all of a node's.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_DL_CHOICE_PBQP_H
#define DLC_PASSES_DL_CHOICE_PBQP_H

#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <optional>
#include <vector>

namespace dlc::dl {

/// What pairs of alternatives cost: those of one node are rows, those of the other columns.
class PbqpMatrix {
public:
  PbqpMatrix(size_t rows, size_t columns) : width(columns), values(rows * columns, 0.0) {}

  size_t rows() const { return values.size() / width; }
  size_t columns() const { return width; }
  double &at(size_t row, size_t column) { return values[row * width + column]; }
  double at(size_t row, size_t column) const { return values[row * width + column]; }

private:
  size_t width;
  std::vector<double> values;
};

class PbqpGraph {
public:
  /// `costs`: of each alternative, at least one; none is negative infinity or not a number. Returns
  /// the node's number, which counts from 0.
  unsigned addNode(std::vector<double> costs);
  /// `costs` has a row for each alternative of `a`, a column for each of `b`; added to what an edge
  /// between them cost before. `a` != `b`.
  void addEdge(unsigned a, unsigned b, const PbqpMatrix &costs);

  size_t size() const { return nodes.size(); }
  llvm::ArrayRef<double> costsOf(unsigned node) const { return nodes[node].costs; }
  /// The neighbours of a node, ascending, each with the number of the edge.
  const std::map<unsigned, unsigned> &edgesOf(unsigned node) const { return nodes[node].edges; }
  /// What an edge costs when `node`, one of its ends, takes `own`, and the other end `other`.
  double edgeCost(unsigned edge, unsigned node, unsigned own, unsigned other) const {
    return edges[edge].a == node ? edges[edge].costs.at(own, other)
                                 : edges[edge].costs.at(other, own);
  }
  /// Of an alternative for each node.
  double costOf(llvm::ArrayRef<unsigned> choice) const;

private:
  friend class PbqpReducer;
  struct Node {
    std::vector<double> costs;
    std::map<unsigned, unsigned> edges;
  };
  struct Edge {
    unsigned a, b; ///< a < b
    PbqpMatrix costs;
  };
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

struct PbqpSolution {
  std::vector<unsigned> choice; ///< an alternative for each node
  double cost = 0;
  bool exact = true; ///< there is no cheaper one
};

/// The same for equal graphs. Nothing if every choice costs infinitely much; a graph that needs RN
/// and has infinite costs may take exponential time to find one that does not.
std::optional<PbqpSolution> solve(const PbqpGraph &graph);

} // namespace dlc::dl

#endif
