// The tree, from the machines up.
#include "runtime/Collectives/WatchTree.h"

#include <algorithm>
#include <unordered_map>

namespace dlc::runtime {

std::vector<unsigned> watchersOf(std::span<const uint64_t> nodes, unsigned most) {
  std::vector<unsigned> watchers(nodes.size(), 0);
  if (nodes.size() <= most)
    return watchers;
  std::unordered_map<uint64_t, unsigned> firsts;
  std::vector<unsigned> heads;
  for (unsigned rank = 0; rank < nodes.size(); ++rank) {
    const auto [first, isNew] = firsts.try_emplace(nodes[rank], rank);
    watchers[rank] = first->second;
    if (isNew)
      heads.push_back(rank);
  }
  // The first of each group goes up.
  while (heads.size() > most) {
    std::vector<unsigned> above;
    for (size_t i = 0; i < heads.size(); ++i) {
      if (i % most == 0)
        above.push_back(heads[i]);
      watchers[heads[i]] = above.back();
    }
    heads = std::move(above);
  }
  for (unsigned head : heads)
    watchers[head] = 0;
  return watchers;
}

} // namespace dlc::runtime
