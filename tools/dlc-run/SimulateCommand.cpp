// dlc-run simulate: what steps would take on many ranks, from the compiled schedule, the times of
// its records on this machine, and a network.
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Simulation.h"
#include "tools/dlc-run/Tensors.h"
#include "tools/dlc-run/TraceFile.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace dlc::runtime::tool {
namespace {

/// "5e-5,1.6e-9": what a sum over two ranks takes, and each byte of it, as `link` prints them. A
/// ring of two ranks has two transfers of half of the bytes.
Result<Connection> parseConnection(std::string_view flag, const std::string &text) {
  const char *const end = text.data() + text.size();
  double sum = 0, byte = 0;
  const auto [comma, failed] = std::from_chars(text.data(), end, sum);
  if (failed == std::errc() && comma != end && *comma == ',') {
    const auto [rest, wrong] = std::from_chars(comma + 1, end, byte);
    if (wrong == std::errc() && rest == end && sum >= 0 && byte >= 0 && sum <= 1 && byte <= 1)
      return Connection{sum / 2, byte};
  }
  return invalid(flag, ": expected two times in seconds, as 'dlc-run link' prints them, found '",
                 excerpt(text), "'");
}

Result<Network> networkOf(const SimulateFlags &flags) {
  Network network;
  network.topology = *topologyNamed(flags.topology);
  network.perNode = flags.perNode;
  DLC_TRY_ASSIGN(between, parseConnection("--link", flags.link));
  network.between = between;
  if (network.topology != Topology::TwoLevel && (!flags.nodeLink.empty() || flags.perNode != 1))
    return invalid("--per-node and --node-link need --topology two-level");
  if (network.topology != Topology::TwoLevel)
    return network;
  if (flags.nodeLink.empty() || flags.perNode < 2)
    return invalid("--topology two-level needs --per-node, 2 or more, and --node-link");
  DLC_TRY_ASSIGN(within, parseConnection("--node-link", flags.nodeLink));
  network.within = within;
  return network;
}

/// Medians of each record over several runs.
Result<std::vector<double>> measureRecords(Context &context) {
  constexpr unsigned warmUps = 2, runs = 9;
  std::vector<std::vector<double>> times(context.entry().records.count);
  for (unsigned run = 0; run < warmUps + runs; ++run) {
    Trace trace;
    DLC_TRY(context.run(&trace));
    for (size_t i = 0; i < times.size() && run >= warmUps; ++i)
      times[i].push_back(trace.seconds[i]);
  }
  std::vector<double> medians;
  for (std::vector<double> &each : times) {
    std::ranges::nth_element(each, each.begin() + runs / 2);
    medians.push_back(each[runs / 2]);
  }
  return medians;
}

Json describe(const SimulatedStep &step, uint64_t ranks, uint64_t batch, double alone) {
  Json line = {{"ranks", ranks},
               {"step_ms", step.step * 1e3},
               {"backward_ms", step.backward * 1e3},
               {"communication_ms", step.communication * 1e3},
               {"exposed_ms", step.exposed * 1e3},
               {"without_overlap_ms", step.serial * 1e3},
               {"images_per_second", static_cast<double>(batch * ranks) / step.step},
               {"efficiency", alone / step.step}};
  if (step.communication > 0)
    line["overlap"] = 1 - step.exposed / step.communication;
  return line;
}

} // namespace

Status simulate(const SimulateFlags &flags) {
  DLC_TRY_ASSIGN(network, networkOf(flags));
  DLC_TRY_ASSIGN(state, flags.createState());
  const Plan &plan = state->module()->plan();
  if (!plan.dataParallel)
    return unsupported(flags.module, ": was compiled without --data-parallel");
  if (!flags.trace.empty())
    DLC_TRY(checkWritable(flags.trace, std::vector{flags.module}));
  DLC_TRY_ASSIGN(entry, selectEntry(*state->module(), flags.entry, DLC_ENTRY_TRAIN));
  if (entry->kind != DLC_ENTRY_TRAIN && entry->kind != DLC_ENTRY_ACCUMULATE)
    return invalid(flags.module, ": entry '", entry->name, "' does not train, it is of kind ",
                   entryKindName(entry->kind), ": there is no step to predict");
  DLC_TRY_ASSIGN(context, Context::create(state, entry->name));
  DLC_TRY_ASSIGN(inputs, bindRandom(*context, flags.seed.value_or(0)));
  DLC_TRY_ASSIGN(seconds, measureRecords(*context));
  const double alone = simulateStep(plan, *entry, seconds, network, 1).step;
  Table table({"ranks", "step ms", "communication ms", "exposed ms", "without overlap ms",
               "images/s", "efficiency"});
  for (uint64_t ranks : flags.ranks) {
    const SimulatedStep step = simulateStep(plan, *entry, seconds, network, ranks);
    const Json line = describe(step, ranks, entry->batch, alone);
    if (flags.json)
      printJson(line);
    table.add({std::to_string(ranks), printf("%.3f", step.step * 1e3),
               printf("%.3f", step.communication * 1e3), printf("%.3f", step.exposed * 1e3),
               printf("%.3f", step.serial * 1e3),
               printf("%.0f", line["images_per_second"].get<double>()),
               printf("%.1f%%", line["efficiency"].get<double>() * 100)});
  }
  if (!flags.json)
    table.print();
  if (flags.trace.empty())
    return {};
  RankTimeline timeline;
  timeline.spans = simulateStep(plan, *entry, seconds, network, flags.ranks.front()).spans;
  return writeTrace(flags.trace, plan, {std::move(timeline)});
}

} // namespace dlc::runtime::tool
