// dlc-run bench: how long one run of an entry takes, on random data of the right shapes. Inputs are
// copied to the device before, and timed apart.
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Schedule.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Median.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Tensors.h"
#include "tools/dlc-run/TraceFile.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace dlc::runtime::tool {
namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Measurement {
  /// From opening the module to the end of the first run: what a program waits for.
  double firstRun;
  std::vector<double> milliseconds;
  /// Of copying the inputs to the device.
  std::vector<double> transfers;
  /// Sum over the runs, for each record.
  std::vector<double> recordSeconds;
};

Status measureTransfers(Context &context, std::vector<double> &milliseconds) {
  constexpr unsigned copies = 5;
  while (milliseconds.size() < copies) {
    const Clock::time_point start = Clock::now();
    DLC_TRY(context.keepInputs());
    milliseconds.push_back(millisecondsSince(start));
  }
  return {};
}

/// How many runs are timed: as many on all ranks.
Result<uint64_t> countRuns(Transport &ranks, const BenchFlags &flags, double millisecondsOfOne) {
  constexpr double most = 100, least = 5, enough = 3000;
  if (flags.steps)
    return *flags.steps;
  double runs = std::clamp(enough / millisecondsOfOne, least, most);
  if (ranks.ranks() > 1)
    DLC_TRY(ranks.broadcast(std::as_writable_bytes(std::span(&runs, 1))));
  return static_cast<uint64_t>(runs);
}

/// A run takes as long as on the slowest rank.
Status takeSlowest(Transport &ranks, std::vector<double> &milliseconds) {
  if (ranks.ranks() == 1)
    return {};
  std::vector<double> all(milliseconds.size() * ranks.ranks(), 0);
  std::ranges::copy(milliseconds,
                    all.begin() + static_cast<ptrdiff_t>(milliseconds.size() * ranks.rank()));
  DLC_TRY(ranks.sum(all));
  for (size_t i = 0; i < all.size(); ++i) {
    double &slowest = milliseconds[i % milliseconds.size()];
    slowest = std::max(slowest, all[i]);
  }
  return {};
}

Result<Measurement> measure(Context &context, const BenchFlags &flags, Clock::time_point opened,
                            Timeline *timeline) {
  Measurement result;
  Trace trace;
  Transport &ranks = context.state()->device()->ranks();
  auto runNext = [&, number = uint64_t(0)](Trace *records) mutable {
    ranks.setStep(++number);
    return context.run(records);
  };
  Clock::time_point start = Clock::now();
  DLC_TRY(runNext(nullptr));
  double last = millisecondsSince(start);
  result.firstRun = millisecondsSince(opened);
  DLC_TRY(measureTransfers(context, result.transfers));
  for (uint64_t i = 1; i < flags.warmUp; ++i) {
    start = Clock::now();
    DLC_TRY(runNext(nullptr));
    last = millisecondsSince(start);
  }
  DLC_TRY_ASSIGN(runs, countRuns(ranks, flags, last));
  context.setTimeline(timeline);
  while (result.milliseconds.size() < runs) {
    if (timeline)
      timeline->setStep(result.milliseconds.size() + 1);
    const TimedScope scope(timeline, SpanKind::Step);
    start = Clock::now();
    DLC_TRY(runNext(flags.layers ? &trace : nullptr));
    result.milliseconds.push_back(millisecondsSince(start));
    result.recordSeconds.resize(trace.seconds.size());
    for (size_t r = 0; r < trace.seconds.size(); ++r)
      result.recordSeconds[r] += trace.seconds[r];
  }
  DLC_TRY(takeSlowest(ranks, result.milliseconds));
  return result;
}

std::string_view commandName(const Plan &plan, const dlc_record &record) {
  switch (record.kind) {
  case DLC_RECORD_LAUNCH:
    return plan.kernels[record.index].symbol;
  case DLC_RECORD_LIBRARY:
    return libraryOpName(plan.calls[record.index].op);
  case DLC_RECORD_COPY:
    return "copy";
  case DLC_RECORD_COLLECTIVE:
    return "all_reduce";
  default:
    return "fill";
  }
}

/// Time of each command, as JSON, and what it cannot be below: the time that its arithmetic or its
/// memory traffic takes at the device's peak.
Json describeLayers(const Plan &plan, const EntryInfo &entry, const Measurement &result,
                    const DevicePeaks &peaks) {
  Json layers = Json::array();
  for (uint32_t i = 0; i < entry.records.count; ++i) {
    const dlc_record &record = plan.records[entry.records.first + i];
    if (record.kind == DLC_RECORD_RECORD_EVENT || record.kind == DLC_RECORD_WAIT_EVENT)
      continue;
    // An alternative that does not run on this device.
    if (record.condition != DLC_ALWAYS && result.recordSeconds[i] == 0)
      continue;
    const double seconds =
        result.recordSeconds[i] / static_cast<double>(result.milliseconds.size());
    Json layer = {{"name", plan.recordNames[entry.records.first + i]},
                  {"kernel", commandName(plan, record)},
                  {"tasks", record.tasks},
                  {"ms", seconds * 1e3}};
    if (seconds > 0) {
      layer["gflops"] = static_cast<double>(record.flops) / seconds * 1e-9;
      layer["gb_per_second"] = static_cast<double>(record.bytes) / seconds * 1e-9;
    }
    if (peaks.flopsPerSecond > 0 && peaks.bytesPerSecond > 0) {
      const double floor = std::max(static_cast<double>(record.flops) / peaks.flopsPerSecond,
                                    static_cast<double>(record.bytes) / peaks.bytesPerSecond);
      layer["floor_ms"] = floor * 1e3;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

void printLayers(const Json &layers, double totalMs) {
  Table table({"layer", "kernel", "tasks", "ms", "share", "GFLOP/s", "GB/s", "floor ms"});
  for (const Json &layer : layers)
    table.add({layer["name"].get<std::string>(), layer["kernel"].get<std::string>(),
               std::to_string(layer["tasks"].get<uint32_t>()),
               printf("%.4f", layer["ms"].get<double>()),
               printf("%.1f%%", layer["ms"].get<double>() / totalMs * 100),
               printf("%.1f", layer.value("gflops", 0.0)),
               printf("%.1f", layer.value("gb_per_second", 0.0)),
               layer.contains("floor_ms") ? printf("%.4f", layer["floor_ms"].get<double>()) : ""});
  table.print();
}

/// The same by layer: what its kernels take together.
void printSums(const Json &layers, double totalMs) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<uint64_t, double>> sums;
  for (const Json &row : layers) {
    const std::string name = row["name"].get<std::string>();
    const auto [it, isNew] = sums.try_emplace(name.substr(0, name.find('/')));
    if (isNew)
      order.push_back(it->first);
    ++it->second.first;
    it->second.second += row["ms"].get<double>();
  }
  Table table({"layer", "kernels", "ms", "share"});
  for (const std::string &layer : order)
    table.add({layer, std::to_string(sums[layer].first), printf("%.4f", sums[layer].second),
               printf("%.1f%%", sums[layer].second / totalMs * 100)});
  std::puts("\nby layer");
  table.print();
}

/// Of the entry that is timed if none is named.
dlc_entry_kind firstKind(const Plan &plan) {
  for (dlc_entry_kind kind : {DLC_ENTRY_TRAIN, DLC_ENTRY_INFER})
    if (plan.findEntry(kind))
      return kind;
  return DLC_ENTRY_EVALUATE;
}

/// A context with random inputs, ready to run.
struct Prepared {
  std::unique_ptr<Context> context;
  std::vector<HostTensor> inputs;
};

Result<Prepared> prepare(const BenchFlags &flags, const std::shared_ptr<Transport> &ranks,
                         unsigned threads) {
  DLC_TRY_ASSIGN(state, flags.createStateAmong(ranks, threads));
  const Module &module = *state->module();
  if (!flags.trace.empty() && ranks->rank() == 0)
    DLC_TRY(checkWritable(flags.trace, std::vector{flags.module}));
  DLC_TRY_ASSIGN(entry, selectEntry(module, flags.entry, firstKind(module.plan())));
  DLC_TRY_ASSIGN(context, Context::create(state, entry->name));
  DLC_TRY(scaleByRanks(*context));
  DLC_TRY(applyFactor(*context, 1));
  DLC_TRY_ASSIGN(inputs, bindRandom(*context, flags.seed.value_or(0)));
  return Prepared{std::move(context), std::move(inputs)};
}

/// What the ranks must have alike.
Facts factsOf(const BenchFlags &flags, const Prepared &prepared) {
  const Module &module = *prepared.context->state()->module();
  return {{"the module", hexadecimal(module.note().file_hash)},
          {"--entry", std::string(prepared.context->entry().name)},
          {"--steps", optionalText(flags.steps)},
          {"--warm-up", std::to_string(flags.warmUp)},
          {"--trace", flags.trace.empty() ? "none" : "a file"}};
}

Status benchAmong(const BenchFlags &flags, const std::shared_ptr<Transport> &ranks,
                  Clock::time_point opened) {
  DLC_TRY_ASSIGN(threads, threadsOfRank(*ranks));
  Result<Prepared> prepared = guarded([&] {
    const PhaseScope loading(*ranks, Phase::Load);
    return prepare(flags, ranks, threads);
  });
  DLC_TRY(beginTogether(*ranks, prepared.status(),
                        prepared.ok() ? factsOf(flags, *prepared) : Facts()));
  ranks->setPhase(Phase::Compute);
  Context &context = *prepared->context;
  const Plan &plan = context.state()->module()->plan();
  const EntryInfo &entry = context.entry();
  DLC_TRY_ASSIGN(tracer, Tracer::begin(flags.trace, *ranks));
  DLC_TRY_ASSIGN(result, measure(context, flags, opened, tracer->timeline()));
  if (ranks->rank() != 0)
    return tracer->finish(plan, *ranks, nullptr);
  const auto [least, most] = std::ranges::minmax(result.milliseconds);
  const double median = medianOf(result.milliseconds), transfer = medianOf(result.transfers);
  uint64_t inputBytes = 0;
  for (const HostTensor &input : prepared->inputs)
    inputBytes += input.bytes.size();
  const double rate = static_cast<double>(entry.batch * ranks->ranks()) / median * 1e3;
  const Json layers = flags.layers
                          ? describeLayers(plan, entry, result, context.state()->device()->peaks())
                          : Json();
  if (flags.json) {
    Json line = {{"entry", entry.name},
                 {"steps", result.milliseconds.size()},
                 {"median_ms", median},
                 {"min_ms", least},
                 {"max_ms", most},
                 {"samples_per_second", rate},
                 {"inputs_ms", transfer},
                 {"input_bytes", inputBytes},
                 {"load_to_first_run_ms", result.firstRun}};
    if (ranks->ranks() > 1)
      line["ranks"] = ranks->ranks();
    if (flags.layers)
      line["layers"] = layers;
    DLC_TRY(tracer->finish(plan, *ranks, &line));
    printJson(line);
    return {};
  }
  std::printf(
      "%s: median %.3f ms, min %.3f ms, max %.3f ms over %zu runs, %.0f samples/s; first run done "
      "%.1f ms after opening\n",
      std::string(entry.name).c_str(), median, least, most, result.milliseconds.size(), rate,
      result.firstRun);
  std::printf("inputs: %.3f ms to the device for %.1f KB, not part of a run\n", transfer,
              static_cast<double>(inputBytes) * 1e-3);
  if (flags.layers) {
    printLayers(layers, median);
    printSums(layers, median);
  }
  return tracer->finish(plan, *ranks, nullptr);
}

} // namespace

Status bench(const BenchFlags &flags) {
  const Clock::time_point opened = Clock::now();
  return amongRanks("bench", flags,
                    [&](const auto &ranks) { return benchAmong(flags, ranks, opened); });
}

} // namespace dlc::runtime::tool
