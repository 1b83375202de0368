// dlc-run simulate: what steps would take on many ranks, from the compiled schedule, the times of
// its records on this machine, and a network.
#include "runtime/Core/File.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Json.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Exec/Metrics.h"
#include "runtime/Exec/Schedule.h"
#include "tools/CommandLine/CommandLine.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Median.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/SimulatedRanks.h"
#include "tools/dlc-run/Simulation.h"
#include "tools/dlc-run/Tensors.h"
#include "tools/dlc-run/TraceFile.h"

#include <algorithm>
#include <cstdio>

namespace dlc::runtime::tool {
namespace {

/// A ring of two ranks, which the link was measured with, has two transfers of half of the bytes.
Connection connectionOf(double sum, double byte) { return {sum / 2, byte}; }

Connection connectionOf(const std::string &link) {
  const auto [sum, byte] = *dlc::tool::parseLink(link);
  return connectionOf(sum, byte);
}

Network networkOf(const SimulateFlags &flags) {
  Network network;
  network.topology = *topologyNamed(flags.topology);
  network.perNode = flags.perNode;
  network.between = connectionOf(flags.link);
  if (!flags.beside.empty()) {
    const auto [sum, byte, lost] = *dlc::tool::parseBeside(flags.beside);
    network.beside = {connectionOf(sum, byte), lost};
  }
  if (network.topology == Topology::TwoLevel)
    network.within = connectionOf(flags.nodeLink);
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
  for (std::vector<double> &each : times)
    medians.push_back(medianOf(std::move(each)));
  return medians;
}

/// One entry of those that a batch is trained with.
struct TimedEntry {
  const EntryInfo *entry;
  /// Its runs for each batch: accumulated gradients have an update behind several of these.
  double runs;
  std::vector<double> seconds;
};

/// All entries that the plan trains with, or the one of that name; without their seconds.
Result<std::vector<TimedEntry>> selectEntries(const SimulateFlags &flags, const Module &module) {
  const Plan &plan = module.plan();
  std::vector<TimedEntry> entries;
  if (flags.entry.empty())
    for (const dlc_step &step : plan.steps)
      entries.push_back({&plan.entries[step.entry], 1.0 / step.every, {}});
  if (!entries.empty())
    return entries;
  DLC_TRY_ASSIGN(entry, selectEntry(module, flags.entry, DLC_ENTRY_TRAIN));
  if (entry->kind != DLC_ENTRY_TRAIN && entry->kind != DLC_ENTRY_ACCUMULATE)
    return invalid(flags.module, ": entry '", entry->name, "' does not train, it is of kind ",
                   entryKindName(entry->kind), ": there is no step to predict");
  entries.push_back({entry, 1, {}});
  return entries;
}

Status measure(const SimulateFlags &flags, std::vector<TimedEntry> &entries) {
  DLC_TRY_ASSIGN(state, flags.createState());
  for (TimedEntry &timed : entries) {
    // By name: the state has loaded the module itself.
    DLC_TRY_ASSIGN(context, Context::create(state, timed.entry->name));
    DLC_TRY(applyFactor(*context, 1));
    DLC_TRY_ASSIGN(inputs, bindRandom(*context, flags.seed.value_or(0)));
    DLC_TRY_ASSIGN(seconds, measureRecords(*context));
    timed.seconds = std::move(seconds);
  }
  return {};
}

//===- Times that are kept --------------------------------------------------------------------===//

/// {"module": hash, "seconds": {entry: [of each record, ...], ...}}
Status writeTimes(const std::string &path, const Module &module,
                  const std::vector<TimedEntry> &entries) {
  Json all = {{"module", hexadecimal(module.note().file_hash)}, {"seconds", Json::object()}};
  for (const TimedEntry &timed : entries)
    all["seconds"][timed.entry->name] = timed.seconds;
  const std::string text = all.dump() + "\n";
  DLC_TRY_ASSIGN(file, FileWriter::create(path));
  DLC_TRY(file.append(std::as_bytes(std::span(text))));
  return file.commit();
}

Status readTimes(const std::string &path, const Module &module, std::vector<TimedEntry> &entries) {
  DLC_TRY_ASSIGN(bytes, readWholeFile(path, 1 << 30));
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  const Json all = checkJsonDepth(text).ok() ? Json::parse(text, nullptr, false) : Json();
  const Json *of = all.is_object() && all.contains("seconds") ? &all["seconds"] : nullptr;
  if (!of || !of->is_object() || !all.contains("module"))
    return invalid(path, ": holds no times of dlc-run simulate");
  if (all["module"] != hexadecimal(module.note().file_hash))
    return invalid(path, ": holds the times of another module than ", module.path());
  for (TimedEntry &timed : entries) {
    const Json row = of->value(timed.entry->name, Json());
    if (!row.is_array() || row.size() != timed.entry->records.count ||
        !std::ranges::all_of(row, [](const Json &one) { return one.is_number(); }))
      return invalid(path, ": has no times of entry '", timed.entry->name, "', ",
                     timed.entry->records.count, " numbers");
    timed.seconds = row.get<std::vector<double>>();
  }
  return {};
}

/// What --times says, else as it is here and now.
Status findTimes(const SimulateFlags &flags, const Module &module,
                 std::vector<TimedEntry> &entries) {
  if (!flags.times.empty() && isThere(flags.times))
    return readTimes(flags.times, module, entries);
  if (!flags.times.empty())
    DLC_TRY(checkWritable(flags.times, std::vector{flags.module}));
  DLC_TRY(measure(flags, entries));
  return flags.times.empty() ? Status() : writeTimes(flags.times, module, entries);
}

/// What the ranks add up behind a batch: whether one of them stops or saves, losses and metrics.
double secondsOfMetrics(const std::vector<TimedEntry> &entries, const Network &network,
                        uint64_t ranks) {
  double numbers = 2;
  for (const TimedEntry &timed : entries)
    numbers += timed.runs * static_cast<double>(MetricSums(*timed.entry).numbers().size());
  return network.secondsOfShortSum(ranks, static_cast<uint64_t>(numbers * sizeof(double)));
}

/// What a batch takes where kernels take `slowest` of their times: the entries one behind the
/// other, each by its share of runs. The spans are of one run of each.
SimulatedStep simulateBatch(const Plan &plan, const std::vector<TimedEntry> &entries,
                            const Network &network, uint64_t ranks, double slowest = 1) {
  SimulatedStep batch;
  int64_t end = 0;
  for (const TimedEntry &timed : entries) {
    std::vector<double> seconds = timed.seconds;
    for (double &each : seconds)
      each *= slowest;
    const SimulatedStep step = simulateStep(plan, *timed.entry, seconds, network, ranks);
    batch.step += timed.runs * step.step;
    batch.backward += timed.runs * step.backward;
    batch.communication += timed.runs * step.communication;
    batch.exposed += timed.runs * step.exposed;
    batch.serial += timed.runs * step.serial;
    const int64_t begin = end;
    for (Span span : step.spans) {
      span.begin += begin;
      span.end += begin;
      end = std::max(end, span.end);
      batch.spans.push_back(span);
    }
  }
  batch.metrics = secondsOfMetrics(entries, network, ranks);
  batch.step += batch.metrics;
  batch.serial += batch.metrics;
  return batch;
}

Json describe(const SimulatedStep &step, const SimulatedStart &start, uint64_t ranks,
              uint64_t batch, double alone) {
  Json line = {{"ranks", ranks},
               {"step_ms", step.step * 1e3},
               {"backward_ms", step.backward * 1e3},
               {"communication_ms", step.communication * 1e3},
               {"exposed_ms", step.exposed * 1e3},
               {"metrics_ms", step.metrics * 1e3},
               {"without_overlap_ms", step.serial * 1e3},
               {"samples_per_second", static_cast<double>(batch * ranks) / step.step},
               {"efficiency", alone / step.step},
               {"watch_share", start.watchShare},
               {"start_ms", start.start * 1e3},
               {"checkpoint_ms", start.checkpoint * 1e3}};
  if (step.communication > 0)
    line["overlap"] = 1 - step.exposed / step.communication;
  return line;
}

} // namespace

Status checkSimulate(const SimulateFlags &flags) {
  if (*topologyNamed(flags.topology) != Topology::TwoLevel)
    return flags.nodeLink.empty() && flags.perNode == 1
               ? Status()
               : invalid("--per-node and --node-link need --topology two-level");
  if (flags.nodeLink.empty() || flags.perNode < 2)
    return invalid("--topology two-level needs --per-node, 2 or more, and --node-link");
  for (uint64_t ranks : flags.ranks)
    if (ranks > flags.perNode && ranks % flags.perNode != 0)
      return invalid("--per-node ", flags.perNode, ": ", ranks, " ranks are no whole nodes");
  return {};
}

Status simulate(const SimulateFlags &flags) {
  const Network network = networkOf(flags);
  DLC_TRY_ASSIGN(module, Module::load(flags.module));
  const Plan &plan = module->plan();
  if (!plan.dataParallel)
    return unsupported(flags.module, ": was compiled without --data-parallel");
  if (!flags.trace.empty())
    DLC_TRY(checkWritable(flags.trace, std::vector{flags.module}));
  DLC_TRY_ASSIGN(entries, selectEntries(flags, *module));
  DLC_TRY(findTimes(flags, *module, entries));
  double alone = simulateBatch(plan, entries, network, 1).step;
  if (flags.stepMs) {
    const double scale = *flags.stepMs * 1e-3 / alone;
    for (TimedEntry &timed : entries)
      for (double &each : timed.seconds)
        each *= scale;
    alone *= scale;
  }
  Table table({"ranks", "step ms", "communication ms", "exposed ms", "without overlap ms",
               "samples/s", "efficiency", "start ms", "checkpoint ms"});
  RankTimeline shown; ///< of the first number of ranks
  for (uint64_t ranks : flags.ranks) {
    DLC_TRY_ASSIGN(start, simulateStart({.module = flags.module, .device = flags.device}, network,
                                        static_cast<unsigned>(ranks)));
    const double slowest = slowestOf(ranks, flags.jitter);
    SimulatedStep step =
        simulateBatch(plan, entries, network, ranks, slowest * (1 + start.watchShare));
    if (shown.spans.empty())
      shown.spans = std::move(step.spans);
    Json line = describe(step, start, ranks, entries.front().entry->batch, alone);
    if (flags.jitter > 0)
      line["slowest"] = slowest;
    if (flags.json)
      printJson(line);
    table.add({std::to_string(ranks), printf("%.3f", step.step * 1e3),
               printf("%.3f", step.communication * 1e3), printf("%.3f", step.exposed * 1e3),
               printf("%.3f", step.serial * 1e3),
               printf("%.0f", line["samples_per_second"].get<double>()),
               printf("%.1f%%", line["efficiency"].get<double>() * 100),
               printf("%.1f", start.start * 1e3), printf("%.1f", start.checkpoint * 1e3)});
  }
  if (!flags.json)
    table.print();
  return flags.trace.empty() ? Status() : writeTrace(flags.trace, plan, {std::move(shown)});
}

} // namespace dlc::runtime::tool
