// The clocks of streams, events and channels.
#include "tools/dlc-run/Simulation.h"
#include "runtime/Collectives/RecordSum.h"
#include "tools/dlc-run/TraceFile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace dlc::runtime::tool {

std::optional<Topology> topologyNamed(std::string_view name) {
  for (auto [known, topology] : {std::pair{"ring", Topology::Ring},
                                 {"tree", Topology::Tree},
                                 {"two-level", Topology::TwoLevel}})
    if (name == known)
      return topology;
  return std::nullopt;
}

/// Patarasuk and Yuan 2009: each rank sends and receives n / p bytes 2 (p - 1) times.
static double secondsOfRing(double ranks, double bytes, const Connection &connection) {
  return 2 * (ranks - 1) * (connection.message + bytes / ranks * connection.byte);
}

double Network::secondsOfSum(uint64_t ranks, uint64_t bytes) const {
  if (ranks <= 1)
    return 0;
  const auto all = static_cast<double>(bytes);
  switch (topology) {
  case Topology::Ring:
    return secondsOfRing(static_cast<double>(ranks), all, between);
  case Topology::Tree:
    return 2 * static_cast<double>(std::bit_width(ranks - 1)) *
           (between.message + all * between.byte);
  case Topology::TwoLevel: {
    // Parts are summed within a node, each part among the nodes, and given back: the ranks of a
    // node send their parts over its one connection, so that all bytes go over it.
    const uint64_t inside = std::min<uint64_t>(perNode, ranks);
    const uint64_t nodes = (ranks + inside - 1) / inside;
    return secondsOfRing(static_cast<double>(inside), all, within) +
           secondsOfRing(static_cast<double>(nodes), all, between);
  }
  }
  return 0;
}

double Network::secondsOfGather(uint64_t ranks, uint64_t bytes) const {
  if (ranks <= 1)
    return 0;
  const auto count = static_cast<double>(ranks), each = static_cast<double>(bytes);
  switch (topology) {
  case Topology::Ring:
    return (count - 1) * (between.message + each * between.byte);
  case Topology::Tree: // Bruck et al. 1997: in each round twice as much as in the one before.
    return static_cast<double>(std::bit_width(ranks - 1)) * between.message +
           (count - 1) * each * between.byte;
  case Topology::TwoLevel: {
    // Among the nodes first, each rank with its like, over the one connection of its node; then all
    // of that within each.
    const auto inside = static_cast<double>(std::min<uint64_t>(perNode, ranks));
    const double nodes = std::ceil(count / inside);
    return (nodes - 1) * (between.message + inside * each * between.byte) +
           (inside - 1) * (within.message + nodes * each * within.byte);
  }
  }
  return 0;
}

namespace {
/// What sums leave of the processor.
class Processor {
public:
  void share(double begin, double end, double seconds) {
    if (end > begin)
      sums.push_back({begin, end, std::min(most, seconds / (end - begin))});
  }
  /// The end of what takes `seconds` alone.
  double run(double begin, double seconds) const {
    while (true) {
      double free = 1, until = std::numeric_limits<double>::infinity();
      for (const Sum &sum : sums) {
        if (sum.begin <= begin && begin < sum.end)
          free *= 1 - sum.share;
        for (double edge : {sum.begin, sum.end})
          if (edge > begin)
            until = std::min(until, edge);
      }
      if (begin + seconds / free <= until)
        return begin + seconds / free;
      seconds -= (until - begin) * free;
      begin = until;
    }
  }

private:
  /// The scheduler gives a thread that computes its turn.
  static constexpr double most = 0.5;
  struct Sum {
    double begin, end, share;
  };
  std::vector<Sum> sums;
};
} // namespace

SimulatedStep simulateStep(const Plan &plan, const EntryInfo &entry,
                           const std::vector<double> &seconds, const Network &network,
                           uint64_t ranks) {
  SimulatedStep result;
  std::vector<double> streams(entry.streams, 0), events(entry.events, 0);
  Processor processor;
  double computed = 0, channels[DLC_CHANNELS] = {};
  auto note = [&](SpanKind kind, uint32_t number, double begin, double end) {
    auto at = [](double time) { return static_cast<int64_t>(time * 1e9); };
    result.spans.push_back({kind, number, 1, at(begin), at(end)});
  };
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const uint32_t number = entry.records.first + i;
    const dlc_record &record = plan.records[number];
    double &stream = streams[record.stream];
    switch (record.kind) {
    case DLC_RECORD_RECORD_EVENT:
      events[record.index] = stream;
      break;
    case DLC_RECORD_WAIT_EVENT:
      stream = std::max(stream, events[record.index]);
      break;
    case DLC_RECORD_COLLECTIVE: {
      double &channel = channels[record.value];
      const double begin = std::max(stream, channel);
      const auto kind = static_cast<dlc_collective>(record.index);
      const uint64_t sent = bytesSent(kind, plan.arguments[record.arguments.first].bytes);
      const double took = kind == DLC_COLLECTIVE_SUM ? network.secondsOfSum(ranks, sent)
                                                     : network.secondsOfGather(ranks, sent);
      stream = channel = begin + took;
      result.serial += took;
      processor.share(begin, stream, network.processor * static_cast<double>(sent));
      if (ranks > 1)
        note(SpanKind::Collective, number, begin, stream);
      break;
    }
    default: {
      const double begin = std::max(stream, computed);
      stream = computed = processor.run(begin, seconds[i]);
      result.serial += seconds[i];
      note(SpanKind::Kernel, number, begin, stream);
    }
    }
  }
  result.step = *std::ranges::max_element(streams);
  note(SpanKind::Run, static_cast<uint32_t>(&entry - plan.entries.data()), 0, result.step);
  note(SpanKind::Step, 0, 0, result.step);
  const StepFigures figures = figuresOf(plan, result.spans);
  result.backward = figures.backward;
  result.communication = figures.communication;
  result.exposed = figures.exposed;
  return result;
}

} // namespace dlc::runtime::tool
