// What a step takes on many ranks: the plan's records with the times that they take on one, and its
// collectives with those of a network.
#ifndef DLC_TOOLS_DLC_RUN_SIMULATION_H
#define DLC_TOOLS_DLC_RUN_SIMULATION_H

#include "dlc/plan.h"
#include "dlc/timeline.h"

#include <optional>
#include <string_view>
#include <vector>

namespace dlc::runtime::tool {

/// One transfer between two ranks: seconds of a message, and of each byte.
struct Connection {
  double message = 0, byte = 0;
};

enum class Topology {
  Ring,    ///< 2 (p - 1) transfers of n / p bytes
  Tree,    ///< 2 ceil(log2 p) of n bytes: to a root and back
  TwoLevel ///< rings inside of nodes, and one of the nodes in between
};
/// "ring", "tree", "two-level"
std::optional<Topology> topologyNamed(std::string_view name);

struct Network {
  Topology topology = Topology::Ring;
  Connection between;
  /// Of a two-level one: ranks of a node, and how these are connected. Its ranks share `between`.
  unsigned perNode = 1;
  Connection within;
  /// `between` while kernels run beside a sum, and the seconds that each byte of it then takes from
  /// these. None: as without kernels, and nothing.
  struct Beside {
    Connection between;
    double lost = 0;
  };
  std::optional<Beside> beside;

  /// A sum of `bytes` bytes over `ranks` ranks.
  double secondsOfSum(uint64_t ranks, uint64_t bytes) const;
  /// One of so few bytes that ranks exchange it whole: recursive doubling.
  double secondsOfShortSum(uint64_t ranks, uint64_t bytes) const;
  /// All ranks get the `bytes` bytes that each of them has: a compressed sum.
  double secondsOfGather(uint64_t ranks, uint64_t bytes) const;
  /// All ranks get the `bytes` bytes that one has: over a binomial tree, or in pieces that the
  /// ranks then give to each other, whichever takes less.
  double secondsOfBroadcast(uint64_t ranks, uint64_t bytes) const;
  /// One rank gets the `bytes` bytes that each has, or gives as many to each: a binomial tree.
  double secondsOfCollect(uint64_t ranks, uint64_t bytes) const;

private:
  /// A message over as many ranks, one behind the other, as lie between the first and the farthest
  /// of a binomial tree.
  double secondsOfHops(uint64_t ranks, uint64_t bytes) const;
};

/// What the largest of `count` independent standard normal numbers is expected to be.
double expectedMaximum(uint64_t count);

/// What the kernels of the slowest of `ranks` ranks are expected to take, in parts of their mean.
/// All kernels of one rank in one step take (1 + jitter z) times their mean, z a standard normal
/// number of its own for each rank and step: the largest z belongs to the rank that all sums wait
/// for, so that its step is that of all.
double slowestOf(uint64_t ranks, double jitter);

struct SimulatedStep {
  double step = 0, backward = 0, communication = 0, exposed = 0;
  /// The step if nothing ran beside its sums.
  double serial = 0;
  /// Behind it, and part of it: what the ranks add up of losses and metrics.
  double metrics = 0;
  /// What runs when, in nanoseconds from the beginning.
  std::vector<Span> spans;
};

/// A step of `entry` on each of `ranks` ranks, all alike, or on the slowest: one record after the
/// other computes, in table order, as on a CPU; sums of a channel run one behind the other, beside
/// what computes, until an event is waited for. A sum and kernels beside it slow each other as the
/// network says; kernels keep a tenth of their speed at least. `seconds`: of each record; those of
/// collectives do not count.
SimulatedStep simulateStep(const Plan &plan, const EntryInfo &entry,
                           const std::vector<double> &seconds, const Network &network,
                           uint64_t ranks);

} // namespace dlc::runtime::tool

#endif
