// dlc-run eval: loss and metrics of a checkpoint on the test split, which ranks share.
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"
#include "runtime/Training/Evaluate.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Progress.h"

namespace dlc::runtime::tool {
namespace {

/// What a rank needs before the first batch.
struct Prepared {
  std::shared_ptr<State> state;
  std::unique_ptr<Evaluator> evaluator;
  Facts facts;
};

/// What each rank does by itself. Rank 0 alone reads the checkpoint.
Result<Prepared> prepare(const EvalFlags &flags, const std::shared_ptr<Transport> &ranks,
                         unsigned threads) {
  DLC_TRY_ASSIGN(state, flags.createState(ranks, threads));
  DLC_TRY_ASSIGN(entry, selectEntry(*state->module(), "", DLC_ENTRY_EVALUATE));
  DLC_TRY_ASSIGN(data, openDataset(flags.data, Split::Test, entry));
  DLC_TRY_ASSIGN(evaluator, Evaluator::create(state, data));
  if (ranks->rank() == 0) {
    printNotes(evaluator->notes());
    DLC_TRY(loadWeights(*state, flags.checkpoint, "results"));
  }
  Prepared prepared{std::move(state), std::move(evaluator), {}};
  if (ranks->ranks() > 1) {
    prepared.facts = commonFacts(flags, *prepared.state);
    DLC_TRY_ASSIGN(samples, describeSamples(*data));
    prepared.facts.emplace_back("test data of", std::move(samples));
    prepared.facts.emplace_back("--steps", optionalText(flags.steps));
  }
  return prepared;
}

Status evaluateAmong(const EvalFlags &flags, const std::shared_ptr<Transport> &ranks) {
  DLC_TRY_ASSIGN(threads, threadsOfRank(*ranks));
  Result<Prepared> prepared = guarded([&] {
    const PhaseScope loading(*ranks, Phase::Load);
    return prepare(flags, ranks, threads);
  });
  DLC_TRY(beginTogether(*ranks, prepared.status(), prepared.ok() ? prepared->facts : Facts()));
  Metadata none;
  DLC_TRY(broadcastRun(*ranks, none, *prepared->state));
  Evaluator &evaluator = *prepared->evaluator;
  const bool speaks = ranks->rank() == 0;
  ProgressLine bar(launchedBy().by == "mpirun");
  const uint64_t batches = std::min(evaluator.batches(), flags.steps.value_or(UINT64_MAX));
  DLC_TRY_ASSIGN(report, evaluator.run(batches, [&](uint64_t done) {
    if (speaks && !flags.json && bar.isTerminal())
      bar.update("evaluate", done, batches, "", 0);
  }));
  if (!speaks)
    return {};
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

} // namespace

Status evaluate(const EvalFlags &flags) {
  return amongRanks("eval", flags, [&](const auto &ranks) { return evaluateAmong(flags, ranks); });
}

} // namespace dlc::runtime::tool
