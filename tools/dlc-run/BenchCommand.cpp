// dlc-run bench: how long one run of an entry takes, on random data of the right shapes. Inputs are
// copied to the device before, and timed apart.
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Tensors.h"

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

Result<std::vector<HostTensor>> bindRandom(Context &context, uint64_t seed) {
  std::vector<HostTensor> tensors;
  const EntryInfo &entry = context.entry();
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (i == entry.validInput)
      continue;
    tensors.push_back(randomInput(entry.inputs[i], seed));
    DLC_TRY(context.bind(i, tensors.back().bytes));
  }
  return tensors;
}

Status measureTransfers(Context &context, std::vector<double> &milliseconds) {
  constexpr unsigned copies = 5;
  while (milliseconds.size() < copies) {
    const Clock::time_point start = Clock::now();
    DLC_TRY(context.keepInputs());
    milliseconds.push_back(millisecondsSince(start));
  }
  return {};
}

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

Result<Measurement> measure(Context &context, const BenchFlags &flags, Clock::time_point opened) {
  constexpr uint64_t warmUp = 3, most = 100, least = 5;
  constexpr double enoughSeconds = 3;
  Measurement result;
  Trace trace;
  double total = 0;
  DLC_TRY(context.run());
  result.firstRun = millisecondsSince(opened);
  DLC_TRY(measureTransfers(context, result.transfers));
  for (uint64_t i = 1; i < warmUp; ++i)
    DLC_TRY(context.run());
  auto wanted = [&] {
    const uint64_t done = result.milliseconds.size();
    return flags.steps ? done < *flags.steps
                       : done < least || (done < most && total < enoughSeconds);
  };
  while (wanted()) {
    const Clock::time_point start = Clock::now();
    DLC_TRY(context.run(flags.layers ? &trace : nullptr));
    result.milliseconds.push_back(millisecondsSince(start));
    total += result.milliseconds.back() * 1e-3;
    result.recordSeconds.resize(trace.seconds.size());
    for (size_t r = 0; r < trace.seconds.size(); ++r)
      result.recordSeconds[r] += trace.seconds[r];
  }
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

} // namespace

Status bench(const BenchFlags &flags) {
  const Clock::time_point opened = Clock::now();
  DLC_TRY_ASSIGN(state, flags.createState());
  DLC_TRY_ASSIGN(entry, selectEntry(*state->module(), flags.entry, DLC_ENTRY_TRAIN));
  DLC_TRY_ASSIGN(context, Context::create(state, entry->name));
  DLC_TRY_ASSIGN(inputs, bindRandom(*context, flags.seed.value_or(0)));
  DLC_TRY_ASSIGN(result, measure(*context, flags, opened));
  const auto [least, most] = std::ranges::minmax(result.milliseconds);
  const double median = medianOf(result.milliseconds), transfer = medianOf(result.transfers);
  uint64_t inputBytes = 0;
  for (const HostTensor &input : inputs)
    inputBytes += input.bytes.size();
  const double rate = static_cast<double>(entry->batch) / median * 1e3;
  const Json layers = flags.layers ? describeLayers(state->module()->plan(), *entry, result,
                                                    state->device()->peaks())
                                   : Json();
  if (flags.json) {
    Json line = {{"entry", entry->name},
                 {"steps", result.milliseconds.size()},
                 {"median_ms", median},
                 {"min_ms", least},
                 {"max_ms", most},
                 {"images_per_second", rate},
                 {"inputs_ms", transfer},
                 {"input_bytes", inputBytes},
                 {"load_to_first_run_ms", result.firstRun}};
    if (flags.layers)
      line["layers"] = layers;
    printJson(line);
    return {};
  }
  std::printf(
      "%s: median %.3f ms, min %.3f ms, max %.3f ms over %zu runs, %.0f images/s; first run done "
      "%.1f ms after opening\n",
      std::string(entry->name).c_str(), median, least, most, result.milliseconds.size(), rate,
      result.firstRun);
  std::printf("inputs: %.3f ms to the device for %.1f KB, not part of a run\n", transfer,
              static_cast<double>(inputBytes) * 1e-3);
  if (flags.layers) {
    printLayers(layers, median);
    printSums(layers, median);
  }
  return {};
}

} // namespace dlc::runtime::tool
