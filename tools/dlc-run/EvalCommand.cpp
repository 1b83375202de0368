// dlc-run eval: loss and metrics of a checkpoint on the test split, which ranks share.
#include "dlc/run.h"
#include "runtime/Exec/Entries.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Progress.h"

namespace dlc::runtime::tool {
namespace {

Result<std::unique_ptr<Run>> open(const EvalFlags &flags, const std::shared_ptr<Transport> &ranks,
                                  const SharedLog &log) {
  return Run::open({.module = flags.module,
                    .device = flags.device,
                    .testData = flags.data,
                    .augment = flags.augment,
                    .load = flags.load,
                    .seed = flags.seed,
                    .weights = flags.checkpoint,
                    .ranks = std::make_shared<Ranks>(ranks),
                    .log = log});
}

void print(const EvaluateReport &report, bool json, ProgressLine &bar) {
  const double rate = report.seconds > 0 ? static_cast<double>(report.samples) / report.seconds : 0;
  if (!json) {
    bar.finish(metricsText(report.metrics) +
               printf("  %llu samples  %.0f samples/s",
                      static_cast<unsigned long long>(report.samples), rate) +
               badRecordsText(report.badRecords));
    printTables(report.metrics);
    return;
  }
  Json line = Json::object();
  addMetrics(line, report.metrics);
  line["samples"] = report.samples;
  if (report.badRecords)
    line["bad_records"] = *report.badRecords;
  line["seconds"] = report.seconds;
  line["samples_per_second"] = rate;
  line["summary"] = true;
  printJson(line);
}

Status evaluateAmong(const EvalFlags &flags, const std::shared_ptr<Transport> &ranks) {
  const bool speaks = ranks->rank() == 0;
  if (ranks->ranks() > 1)
    DLC_TRY(beginTogether(*ranks, {}, {{"--steps", optionalText(flags.steps)}}));
  const SharedLog log(speaks);
  Result<std::unique_ptr<Run>> run = open(flags, ranks, log);
  if (!run.ok())
    return log.unsaid(run.takeStatus());
  const Module &module = *(*run)->module();
  DLC_TRY(selectEntry(module, "", DLC_ENTRY_EVALUATE).takeStatus());
  if (speaks)
    DLC_TRY(noteWeights(module.plan(), flags.checkpoint, "results"));
  ProgressLine bar(launchedBy().by == "mpirun");
  auto progress = [&](uint64_t done, uint64_t batches) {
    if (speaks && !flags.json && bar.isTerminal())
      bar.update("evaluate", done, batches, "", 0);
  };
  Result<EvaluateReport> report =
      (*run)->evaluate({}, {.steps = flags.steps, .progress = progress});
  if (!report.ok())
    return log.unsaid(report.takeStatus());
  if (speaks)
    print(*report, flags.json, bar);
  return {};
}

} // namespace

Status evaluate(const EvalFlags &flags) {
  return amongRanks("eval", flags, [&](const auto &ranks) { return evaluateAmong(flags, ranks); });
}

} // namespace dlc::runtime::tool
