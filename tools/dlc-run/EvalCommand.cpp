// dlc-run eval: loss and metrics of a checkpoint on the test split.
#include "runtime/Core/Support.h"
#include "runtime/Training/Evaluate.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Progress.h"

#include <unistd.h>

namespace dlc::runtime::tool {
Status evaluate(const EvalFlags &flags) {
  DLC_TRY_ASSIGN(state, flags.createState());
  if (!flags.checkpoint.empty()) {
    DLC_TRY_ASSIGN(metadata, loadVariables(*state, flags.checkpoint, LoadMode::Weights));
  }
  DLC_TRY_ASSIGN(entry, selectEntry(*state->module(), "", DLC_ENTRY_EVALUATE));
  DLC_TRY_ASSIGN(data, openDataset(flags.data, Split::Test, entry));
  DLC_TRY_ASSIGN(evaluator, Evaluator::create(state, data));
  printNotes(evaluator->notes());
  ProgressLine bar;
  const uint64_t batches = std::min(evaluator->batches(), flags.steps.value_or(UINT64_MAX));
  DLC_TRY_ASSIGN(report, evaluator->run(batches, [&](uint64_t done) {
    if (!flags.json && isatty(STDOUT_FILENO))
      bar.update("evaluate", done, batches, "", 0);
  }));
  const double rate = report.seconds > 0 ? static_cast<double>(report.samples) / report.seconds : 0;
  if (!flags.json) {
    bar.finish(metricsText(report.metrics) + printf("  %llu samples  %.0f samples/s",
                                                    static_cast<unsigned long long>(report.samples),
                                                    rate));
    printTables(report.metrics);
    return {};
  }
  Json line = Json::object();
  addMetrics(line, report.metrics);
  line["samples"] = report.samples;
  line["seconds"] = report.seconds;
  line["samples_per_second"] = rate;
  line["summary"] = true;
  printJson(line);
  return {};
}

} // namespace dlc::runtime::tool
