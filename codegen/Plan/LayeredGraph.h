//===- LayeredGraph.h - a graph drawn by ranks --------------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_PLAN_LAYEREDGRAPH_H
#define DLC_CODEGEN_PLAN_LAYEREDGRAPH_H

#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dlc::codegen {

/// A graph as an SVG picture from top to bottom, as Sugiyama, Tagawa and Toda draw them (1981): the
/// rank of a node is the longest path to it, what is passed over is a place in each rank between,
/// and the nodes of a rank are ordered by the means of their neighbours' places.
class LayeredGraph {
public:
  struct Node {
    std::string label; ///< shortened where it is long
    std::string title; ///< said where one points at it
    std::string link;  ///< "#id", or empty
    std::string classes;
    double heat = 0; ///< from 0 to 1: how strongly it is coloured
  };

  unsigned add(Node node);
  /// The weights of equal edges add up.
  void connect(unsigned from, unsigned to, double weight) { edges[{from, to}] += weight; }

  /// In a cycle the edges of the least weight go up; they have no part in ranks.
  std::string draw() const;

private:
  std::vector<Node> nodes;
  std::map<std::pair<unsigned, unsigned>, double> edges;
};

/// With &, <, > and quotes as entities.
std::string escapeHtml(llvm::StringRef text);

} // namespace dlc::codegen

#endif
