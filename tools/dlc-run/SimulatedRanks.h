// What the ranks of a run do together beside the sums of its plan, on a network that is simulated:
// they meet, watch each other, agree, take the values of rank 0, and compare before checkpoints.
//
// The library's own code does it, as rank 0 of ranks that are all alike, over a transport whose
// collectives end at once and count what they would take.
#ifndef DLC_TOOLS_DLC_RUN_SIMULATEDRANKS_H
#define DLC_TOOLS_DLC_RUN_SIMULATEDRANKS_H

#include "dlc/run.h"
#include "runtime/Collectives/Transport.h"
#include "tools/dlc-run/Simulation.h"

namespace dlc::runtime::tool {

/// Rank 0 of several that all have what it has. Threads: one at a time.
class SimulatedRanks : public Transport {
public:
  SimulatedRanks(const Network &network, unsigned ranks) : network(network), count(ranks) {}

  std::string_view name() const override { return "simulated"; }
  unsigned rank() const override { return 0; }
  unsigned ranks() const override { return count; }
  Result<Ticket> start(const Collective &collective) override;
  Status wait(Ticket) override { return {}; }
  Status leave() override { return {}; }

  /// Of all collectives since the last call.
  double takeSeconds();

private:
  const Network network;
  const unsigned count;
  Ticket last = 0;
  double seconds = 0;
};

struct SimulatedStart {
  /// From when all processes have started MPI and loaded what they need until the first step may
  /// begin.
  double start = 0;
  /// For which a checkpoint lets all ranks wait, its copy not counted.
  double checkpoint = 0;
  /// What the watch takes of rank 0's processor.
  double watchShare = 0;
};

/// A run with these options, which name the module and its device, on `ranks` ranks, of which
/// `perNode` are on a machine.
Result<SimulatedStart> simulateStart(RunOptions options, const Network &network, unsigned ranks);

} // namespace dlc::runtime::tool

#endif
