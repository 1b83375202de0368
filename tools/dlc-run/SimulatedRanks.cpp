// Collectives that end at once, and a run that begins over them.
#include "tools/dlc-run/SimulatedRanks.h"
#include "dlc/ranks.h"
#include "runtime/Collectives/Standings.h"
#include "runtime/Collectives/WatchRanks.h"
#include "runtime/Collectives/WatchTree.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/CarriedStates.h"
#include "runtime/Training/Ranks.h"

#include <algorithm>
#include <utility>

namespace dlc::runtime::tool {
namespace {

/// Seconds of its processor that rank 0's watch takes until a rank that it watches is connected,
/// and for each message of one later (bench/results/2026-11-26-watch.json: 126 in 0.0146 s, and
/// 0.573% of a core for 504 messages a second).
constexpr double secondsToConnect = 1.16e-4, secondsOfMessage = 1.14e-5;

/// As of ranks that have the same numbers.
void multiply(const Collective &sum, unsigned ranks) {
  const uint64_t size = dtypeSize(sum.dtype);
  for (uint64_t at = 0; at < sum.buffer.size(); at += size)
    storeElement(sum.dtype, ranks * loadElement(sum.dtype, sum.buffer.data() + at),
                 sum.buffer.data() + at);
}

/// Each has what rank 0 has.
void repeat(std::span<std::byte> pieces, unsigned ranks) {
  const std::span own = pieces.first(pieces.size() / ranks);
  for (unsigned other = 1; other < ranks; ++other)
    std::ranges::copy(own, pieces.subspan(other * own.size()).begin());
}

/// Ranks that rank 0 watches, and how many watch each other up to it, at most.
struct Tree {
  unsigned watched = 0, depth = 0;
};

Tree treeOf(unsigned ranks, unsigned perNode) {
  std::vector<uint64_t> nodes(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank)
    nodes[rank] = rank / perNode;
  const std::vector<unsigned> watchers = watchersOf(nodes);
  Tree tree;
  for (unsigned rank = 1; rank < ranks; ++rank) {
    unsigned depth = 1;
    for (unsigned above = watchers[rank]; above != 0; above = watchers[above])
      ++depth;
    tree.watched += watchers[rank] == 0;
    tree.depth = std::max(tree.depth, depth);
  }
  return tree;
}

/// A connection takes one message there and back, and so does saying who is there.
double secondsToWatch(const Tree &tree, const Network &network) {
  return tree.depth * 4 * network.between.message + tree.watched * secondsToConnect;
}

/// What only one rank writes goes to it.
double secondsOfCarried(const State &state, const Network &network, unsigned ranks) {
  double seconds = 0;
  for (const Carried &carried : carriedBy(state))
    seconds += network.secondsOfCollect(ranks, carried.type.logicalBytes());
  return seconds;
}

} // namespace

Result<Transport::Ticket> SimulatedRanks::start(const Collective &c) {
  using enum Collective::Kind;
  switch (c.kind) {
  case Sum:
    seconds += network.secondsOfShortSum(count, c.buffer.size());
    multiply(c, count);
    break;
  case Broadcast:
    seconds += network.secondsOfBroadcast(count, c.buffer.size());
    break;
  case Gather:
  case Collect:
    repeat(c.buffer, count);
    [[fallthrough]];
  case Distribute:
    // Of short pieces all ranks have all as soon as one could have it: Bruck et al. 1997.
    seconds += network.secondsOfCollect(count, c.buffer.size() / count);
    break;
  }
  return ++last;
}

double SimulatedRanks::takeSeconds() { return std::exchange(seconds, 0); }

Result<SimulatedStart> simulateStart(RunOptions options, const Network &network, unsigned ranks) {
  if (ranks == 1)
    return SimulatedStart();
  SimulatedStart result;
  const auto transport = std::make_shared<SimulatedRanks>(network, ranks);
  DLC_TRY_ASSIGN(watch, watchRanks(*transport, {}, 0));
  watch.reset();
  const Tree tree = treeOf(ranks, network.perNode);
  // What dlc-run itself agrees on: the command, --deterministic, --trace and the checkpoint; and a
  // run on its trainer, which is not made here, as that may wait for test data.
  for (unsigned i = 0; i < 5; ++i)
    DLC_TRY(agree(*transport, {}, {}));
  options.ranks = std::make_shared<Ranks>(transport);
  DLC_TRY_ASSIGN(run, Run::open(std::move(options)));
  result.start = transport->takeSeconds() + secondsToWatch(tree, network);
  State &state = *run->state();
  DLC_TRY(compareParameters(*transport, state));
  DLC_TRY(averageStatistics(*transport, state));
  result.checkpoint = transport->takeSeconds() + secondsOfCarried(state, network, ranks);
  result.watchShare = tree.watched / Standings::interval * secondsOfMessage;
  return result;
}

} // namespace dlc::runtime::tool
