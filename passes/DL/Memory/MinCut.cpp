//===- MinCut.cpp - the cheapest edges that part a source from sinks --------------------------===//
#include "passes/DL/Memory/MinCut.h"
#include <algorithm>
#include <utility>

using namespace dlc::dl;

unsigned FlowGraph::addNode() {
  firsts.push_back(none);
  return firsts.size() - 1;
}

unsigned FlowGraph::addEdge(unsigned from, unsigned to, int64_t capacity) {
  const unsigned edge = ends.size();
  siblings.push_back(std::exchange(firsts[from], edge));
  siblings.push_back(std::exchange(firsts[to], edge + 1));
  ends.insert(ends.end(), {to, from});
  left.insert(left.end(), {capacity, 0});
  return edge;
}

/// From the sinks on, so that only what leads to one is looked at, until the source is found.
/// Where it is not, the queue has all nodes that lead to a sink.
bool FlowGraph::findLevels(unsigned source, const std::vector<bool> &sinks) {
  level.assign(size(), none);
  queue.clear();
  for (unsigned node = 0; node < size(); ++node)
    if (sinks[node]) {
      level[node] = 0;
      queue.push_back(node);
    }
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned edge = firsts[queue[i]]; edge != none; edge = siblings[edge]) {
      const unsigned node = ends[edge];
      if (left[edge ^ 1] == 0 || level[node] != none)
        continue;
      level[node] = level[queue[i]] + 1;
      if (node == source)
        return true;
      queue.push_back(node);
    }
  return false;
}

/// As much flow as one path takes that goes one level down with each edge; 0 if there is none.
/// Without recursion, since a path may be as long as a network is deep.
int64_t FlowGraph::push(unsigned source) {
  path.clear();
  for (unsigned node = source; level[node] != 0;) {
    unsigned &edge = next[node];
    while (edge != none && !(left[edge] > 0 && level[ends[edge]] + 1 == level[node]))
      edge = siblings[edge];
    if (edge != none) {
      path.push_back(edge);
      node = ends[edge];
    } else if (path.empty()) {
      return 0;
    } else {
      node = ends[path.back() ^ 1];
      next[node] = siblings[next[node]];
      path.pop_back();
    }
  }
  int64_t flow = unlimited;
  for (unsigned edge : path)
    flow = std::min(flow, left[edge]);
  for (unsigned edge : path) {
    left[edge] -= flow;
    left[edge ^ 1] += flow;
  }
  return flow;
}

void FlowGraph::cut(unsigned source, std::vector<bool> &sinkSide) {
  while (findLevels(source, sinkSide)) {
    next = firsts;
    while (push(source) > 0) {
    }
  }
  for (unsigned node : queue)
    sinkSide[node] = true;
}
