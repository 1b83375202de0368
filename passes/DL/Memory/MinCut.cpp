//===- MinCut.cpp - the cheapest edges that part a source from a sink -------------------------===//
#include "passes/DL/Memory/MinCut.h"
#include <algorithm>

using namespace dlc::dl;

unsigned FlowGraph::addNode() {
  leaving.emplace_back();
  return leaving.size() - 1;
}

unsigned FlowGraph::addEdge(unsigned from, unsigned to, int64_t capacity) {
  const unsigned edge = ends.size();
  leaving[from].push_back(edge);
  leaving[to].push_back(edge + 1);
  ends.insert(ends.end(), {to, from});
  capacities.insert(capacities.end(), {capacity, 0});
  return edge;
}

bool FlowGraph::findLevels(unsigned source, unsigned sink) {
  level.assign(leaving.size(), far);
  level[source] = 0;
  queue.assign(1, source);
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned edge : leaving[queue[i]])
      if (left[edge] > 0 && level[ends[edge]] == far) {
        level[ends[edge]] = level[queue[i]] + 1;
        queue.push_back(ends[edge]);
      }
  return level[sink] != far;
}

/// As much flow as one path takes that goes one level further with each edge; 0 if there is none.
/// Without recursion, since a path may be as long as a network is deep.
int64_t FlowGraph::push(unsigned source, unsigned sink) {
  path.clear();
  for (unsigned node = source; node != sink;) {
    for (; next[node] < leaving[node].size(); ++next[node]) {
      const unsigned edge = leaving[node][next[node]];
      if (left[edge] > 0 && level[ends[edge]] == level[node] + 1)
        break;
    }
    if (next[node] < leaving[node].size()) {
      path.push_back(leaving[node][next[node]]);
      node = ends[path.back()];
    } else if (path.empty()) {
      return 0;
    } else {
      node = ends[path.back() ^ 1];
      ++next[node];
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

std::vector<bool> FlowGraph::cut(unsigned source, unsigned sink) {
  left = capacities;
  while (findLevels(source, sink)) {
    next.assign(leaving.size(), 0);
    while (push(source, sink) > 0) {
    }
  }
  std::vector<bool> reachesSink(leaving.size(), false);
  reachesSink[sink] = true;
  queue.assign(1, sink);
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned edge : leaving[queue[i]])
      if (left[edge ^ 1] > 0 && !reachesSink[ends[edge]]) {
        reachesSink[ends[edge]] = true;
        queue.push_back(ends[edge]);
      }
  return reachesSink;
}
