// The clocks of streams, events and channels.
#include "tools/dlc-run/Simulation.h"
#include "runtime/Collectives/RecordSum.h"
#include "tools/dlc-run/TraceFile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

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

static double hopsOf(double ranks) { return std::ceil(std::log2(ranks)); }

double Network::secondsOfHops(uint64_t ranks, uint64_t bytes) const {
  const auto each = static_cast<double>(bytes);
  auto over = [&](const Connection &connection, double count) {
    return hopsOf(count) * (connection.message + each * connection.byte);
  };
  if (topology != Topology::TwoLevel)
    return over(between, static_cast<double>(ranks));
  const auto inside = static_cast<double>(std::min<uint64_t>(perNode, ranks));
  return over(between, std::ceil(static_cast<double>(ranks) / inside)) + over(within, inside);
}

double Network::secondsOfShortSum(uint64_t ranks, uint64_t bytes) const {
  return secondsOfHops(ranks, bytes);
}

double Network::secondsOfBroadcast(uint64_t ranks, uint64_t bytes) const {
  if (ranks <= 1)
    return 0;
  // Barnett et al. 1994: halves, quarters, ... down a tree, then around a ring.
  const uint64_t piece = bytes / ranks;
  const double inPieces = secondsOfHops(ranks, 0) +
                          static_cast<double>(bytes - piece) * between.byte +
                          secondsOfGather(ranks, piece);
  return std::min(secondsOfHops(ranks, bytes), inPieces);
}

double Network::secondsOfCollect(uint64_t ranks, uint64_t bytes) const {
  if (ranks <= 1)
    return 0;
  return secondsOfHops(ranks, 0) + static_cast<double>((ranks - 1) * bytes) * between.byte;
}

/// The integral of x times the density of the largest, count phi(x) Phi(x)^(count - 1). Sums at
/// equal steps converge faster than any power of them, as the integrand is smooth and ends on both
/// sides; 2^32 numbers have their largest at 6.3, spread by 0.2.
double expectedMaximum(uint64_t count) {
  if (count <= 1)
    return 0;
  constexpr double step = 1.0 / 64, end = 12;
  const auto n = static_cast<double>(count);
  double sum = 0;
  for (double x = -end; x <= end; x += step) {
    const double above = std::erfc(x / std::numbers::sqrt2) / 2;
    sum += x * std::exp(-x * x / 2 + (n - 1) * std::log1p(-above));
  }
  return n * step * sum * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

double slowestOf(uint64_t ranks, double jitter) { return 1 + jitter * expectedMaximum(ranks); }

namespace {

/// One collective of the step.
struct Sum {
  uint32_t record;
  /// Seconds of it without kernels and beside them, and what these then lose of each second.
  double alone, beside, share;
  /// When it may begin: then, and behind other sums.
  double ready;
  std::vector<size_t> behind;
  /// What is left of it, from 1 to 0.
  double left = 1;
  double begin = 0, end = 0;
};

/// A point of a stream: a time, and sums that have ended.
struct Moment {
  double time = 0;
  std::vector<size_t> sums;

  void wait(const Moment &other) {
    time = std::max(time, other.time);
    sums.insert(sums.end(), other.sums.begin(), other.sums.end());
  }
};

/// The processor and the channels, which move on together.
class Machine {
  auto ended() const {
    return [this](size_t number) { return sums[number].left <= 0; };
  }

public:
  double now = 0;
  std::vector<Sum> sums;

  size_t start(uint32_t channel, Sum sum) {
    channels[channel].push_back(sums.size());
    sums.push_back(std::move(sum));
    return sums.size() - 1;
  }
  /// Goes on without kernels until then.
  void await(const Moment &moment) {
    while (now < moment.time || !std::ranges::all_of(moment.sums, ended())) {
      double none = 0;
      move(none, now < moment.time ? moment.time : never);
    }
  }
  /// Kernels that take `seconds` alone.
  void run(double seconds) {
    while (seconds > 0)
      move(seconds, never);
  }

private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr double leastSpeed = 0.1;
  std::vector<size_t> channels[DLC_CHANNELS];

  /// Until the next of: something ends, a sum's time has come, `until`. Kernels run if some are
  /// left.
  void move(double &kernels, double until) {
    const bool busy = kernels > 0;
    std::vector<Sum *> active;
    double speed = 1;
    for (const std::vector<size_t> &channel : channels) {
      const auto first = std::ranges::find_if_not(channel, ended());
      if (first == channel.end() || !std::ranges::all_of(sums[*first].behind, ended()))
        continue;
      Sum &sum = sums[*first];
      if (sum.ready > now) {
        until = std::min(until, sum.ready);
        continue;
      }
      if (sum.left == 1)
        sum.begin = now;
      active.push_back(&sum);
      until = std::min(until, now + sum.left * lengthOf(sum, busy));
      speed -= sum.share;
    }
    speed = std::max(leastSpeed, speed);
    if (busy)
      until = std::min(until, now + kernels / speed);
    const double passed = until - now;
    for (Sum *sum : active) {
      const bool ends = now + sum->left * lengthOf(*sum, busy) <= until;
      sum->left = ends ? 0 : sum->left - passed / lengthOf(*sum, busy);
      sum->end = until;
    }
    if (busy)
      kernels = now + kernels / speed <= until ? 0 : kernels - passed * speed;
    now = until;
  }
  static double lengthOf(const Sum &sum, bool busy) { return busy ? sum.beside : sum.alone; }
};

} // namespace

SimulatedStep simulateStep(const Plan &plan, const EntryInfo &entry,
                           const std::vector<double> &seconds, const Network &network,
                           uint64_t ranks) {
  SimulatedStep result;
  Network loaded = network;
  if (network.beside)
    loaded.between = network.beside->between;
  const double lost = network.beside ? network.beside->lost : 0;
  std::vector<Moment> streams(entry.streams), events(entry.events);
  Machine machine;
  auto note = [&](SpanKind kind, uint32_t number, double begin, double end) {
    auto at = [](double time) { return static_cast<int64_t>(time * 1e9); };
    result.spans.push_back({kind, number, 1, at(begin), at(end)});
  };
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const uint32_t number = entry.records.first + i;
    const dlc_record &record = plan.records[number];
    Moment &stream = streams[record.stream];
    switch (record.kind) {
    case DLC_RECORD_RECORD_EVENT:
      events[record.index] = stream;
      break;
    case DLC_RECORD_WAIT_EVENT:
      stream.wait(events[record.index]);
      break;
    case DLC_RECORD_COLLECTIVE: {
      const auto kind = static_cast<dlc_collective>(record.index);
      const uint64_t sent = bytesSent(kind, plan.arguments[record.arguments.first].bytes);
      auto secondsOn = [&](const Network &on) {
        return kind == DLC_COLLECTIVE_SUM ? on.secondsOfSum(ranks, sent)
                                          : on.secondsOfGather(ranks, sent);
      };
      const double alone = secondsOn(network), beside = secondsOn(loaded);
      result.serial += alone;
      if (alone <= 0)
        break;
      const size_t sum =
          machine.start(record.value, {.record = number,
                                       .alone = alone,
                                       .beside = beside,
                                       .share = lost * static_cast<double>(sent) / beside,
                                       .ready = std::max(stream.time, machine.now),
                                       .behind = std::move(stream.sums)});
      stream.sums = {sum};
      break;
    }
    default: {
      machine.await(stream);
      const double begin = machine.now;
      machine.run(seconds[i]);
      stream = {machine.now, {}};
      result.serial += seconds[i];
      note(SpanKind::Kernel, number, begin, machine.now);
    }
    }
  }
  for (const Moment &stream : streams)
    machine.await(stream);
  for (const Sum &sum : machine.sums)
    note(SpanKind::Collective, sum.record, sum.begin, sum.end);
  result.step = machine.now;
  note(SpanKind::Run, static_cast<uint32_t>(&entry - plan.entries.data()), 0, result.step);
  note(SpanKind::Step, 0, 0, result.step);
  const StepFigures figures = figuresOf(plan, {RankTimeline{.spans = result.spans}}).front();
  result.backward = figures.backward;
  result.communication = figures.communication;
  result.exposed = figures.exposed;
  return result;
}

} // namespace dlc::runtime::tool
