//===- MinCut.cpp - the cheapest edges that part a source from a sink -------------------------===//
#include "passes/DL/MinCut.h"
#include <algorithm>

using namespace dlc::dl;

unsigned FlowGraph::addNode() {
  leaving.emplace_back();
  return leaving.size() - 1;
}

void FlowGraph::addEdge(unsigned from, unsigned to, int64_t capacity) {
  leaving[from].push_back(edges.size());
  edges.push_back({to, capacity});
  leaving[to].push_back(edges.size());
  edges.push_back({from, 0});
}

bool FlowGraph::findLevels(unsigned source, unsigned sink) {
  level.assign(leaving.size(), far);
  level[source] = 0;
  std::vector<unsigned> queue = {source};
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned edge : leaving[queue[i]])
      if (edges[edge].left > 0 && level[edges[edge].to] == far) {
        level[edges[edge].to] = level[queue[i]] + 1;
        queue.push_back(edges[edge].to);
      }
  return level[sink] != far;
}

/// As much flow as one path takes that goes one level further with each edge; 0 if there is none.
/// Without recursion, since a path may be as long as a network is deep.
int64_t FlowGraph::push(unsigned source, unsigned sink) {
  std::vector<unsigned> path;
  for (unsigned node = source; node != sink;) {
    for (; next[node] < leaving[node].size(); ++next[node]) {
      const Edge &edge = edges[leaving[node][next[node]]];
      if (edge.left > 0 && level[edge.to] == level[node] + 1)
        break;
    }
    if (next[node] < leaving[node].size()) {
      path.push_back(leaving[node][next[node]]);
      node = edges[path.back()].to;
    } else if (path.empty()) {
      return 0;
    } else {
      node = edges[path.back() ^ 1].to;
      ++next[node];
      path.pop_back();
    }
  }
  int64_t flow = unlimited;
  for (unsigned edge : path)
    flow = std::min(flow, edges[edge].left);
  for (unsigned edge : path) {
    edges[edge].left -= flow;
    edges[edge ^ 1].left += flow;
  }
  return flow;
}

std::vector<bool> FlowGraph::cut(unsigned source, unsigned sink) {
  while (findLevels(source, sink)) {
    next.assign(leaving.size(), 0);
    while (push(source, sink) > 0) {
    }
  }
  std::vector<bool> reachesSink(leaving.size(), false);
  reachesSink[sink] = true;
  std::vector<unsigned> queue = {sink};
  for (size_t i = 0; i < queue.size(); ++i)
    for (unsigned edge : leaving[queue[i]])
      if (edges[edge ^ 1].left > 0 && !reachesSink[edges[edge].to]) {
        reachesSink[edges[edge].to] = true;
        queue.push_back(edges[edge].to);
      }
  return reachesSink;
}
