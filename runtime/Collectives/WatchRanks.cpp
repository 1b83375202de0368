// Who listens says where over the transport, then the others connect.
#include "runtime/Collectives/WatchRanks.h"
#include "runtime/Collectives/WatchTree.h"
#include "runtime/Core/Support.h"

#include <algorithm>
#include <utility>

namespace dlc::runtime {
namespace {

/// Who watches each rank, and which node each is on where that matters.
struct Tree {
  std::vector<uint64_t> nodes;
  std::vector<unsigned> watchers;

  bool watches(unsigned rank) const { return rank == 0 || std::ranges::count(watchers, rank) != 0; }
  /// All that it watches are on its own node.
  bool watchesLocally(unsigned rank) const {
    for (unsigned other = 0; other < nodes.size(); ++other)
      if (watchers[other] == rank && nodes[other] != nodes[rank])
        return false;
    return isDeep();
  }
  bool isDeep() const { return watchers.size() > mostWatched; }
  unsigned firstBelow0() const {
    const auto found = std::find(watchers.begin() + 1, watchers.end(), 0u);
    return static_cast<unsigned>(found - watchers.begin());
  }
};

Result<Tree> makeTree(Transport &ranks, uint64_t node) {
  Tree tree{std::vector<uint64_t>(ranks.ranks()), {}};
  tree.nodes[ranks.rank()] = node;
  if (ranks.ranks() > mostWatched)
    DLC_TRY(ranks.run({Collective::Kind::Gather, controlChannel, DLC_U8,
                       std::as_writable_bytes(std::span(tree.nodes))}));
  tree.watchers = watchersOf(tree.nodes);
  return tree;
}

/// The address of the one who watches this rank.
Result<std::string> addressAbove(Transport &ranks, const Tree &tree, std::string own) {
  if (!tree.isDeep()) {
    DLC_TRY(ranks.broadcast(own));
    return own;
  }
  DLC_TRY_ASSIGN(all, ranks.gather(own));
  return std::move(all[tree.watchers[ranks.rank()]]);
}

/// The watch of this rank, or why there is none. Whoever fails to listen fails its part of it too:
/// all are asked for their address.
Result<std::unique_ptr<Watch>> connect(Transport &ranks, const Tree &tree,
                                       const WatchOptions &options, std::string &trouble) {
  std::unique_ptr<Watch> watch;
  if (tree.watches(options.rank)) {
    auto listening =
        guarded([&] { return Watch::listen(options, tree.watchesLocally(options.rank)); });
    if (listening.ok())
      watch = listening.take();
    else
      trouble = listening.status().message();
  }
  DLC_TRY_ASSIGN(address, addressAbove(ranks, tree, watch ? watch->address() : ""));
  if (options.rank == 0 || !trouble.empty())
    return watch;
  Status joined = guarded([&]() -> Status {
    if (watch)
      return watch->join(address);
    DLC_TRY_ASSIGN(connected, Watch::connect(options, address));
    watch = std::move(connected);
    return {};
  });
  trouble = joined.message();
  return watch;
}

/// One line for all who have trouble. Who watches has a lower number than those whom it watches.
std::string describe(const std::vector<std::string> &troubles, const Watch *watch) {
  const auto isTrouble = [](const std::string &trouble) { return !trouble.empty(); };
  const auto others = std::ranges::count_if(troubles, isTrouble) - 1;
  return concat(
      *std::ranges::find_if(troubles, isTrouble),
      others > 0 ? concat(", and ", others, others == 1 ? " other has" : " others have", " trouble")
                 : "",
      watch && watch->counts().refused != 0 ? ", as rank 0 may open no more files (ulimit -n)" : "",
      "; the ranks go on unwatched: of one that ends or stands still they hear from MPI "
      "alone");
}

} // namespace

Result<std::unique_ptr<Watch>> watchRanks(Transport &ranks, WatchOptions options, uint64_t node) {
  DLC_TRY_ASSIGN(tree, makeTree(ranks, node));
  options.rank = ranks.rank();
  options.ranks = ranks.ranks();
  options.above = tree.watchers[options.rank];
  options.warner = tree.firstBelow0();
  std::string trouble;
  DLC_TRY_ASSIGN(watch, connect(ranks, tree, options, trouble));
  DLC_TRY_ASSIGN(troubles, ranks.gather(trouble));
  if (std::ranges::all_of(troubles, [](const std::string &each) { return each.empty(); }))
    return watch;
  if (options.rank == 0 && options.onWarning)
    options.onWarning(describe(troubles, watch.get()));
  if (watch)
    watch->leave();
  return std::unique_ptr<Watch>();
}

} // namespace dlc::runtime
