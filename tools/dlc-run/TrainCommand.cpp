// dlc-run train: flags, and what is printed around a run.
#include "dlc/run.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Training/RunStart.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Signals.h"
#include "tools/dlc-run/TraceFile.h"
#include "tools/dlc-run/TrainReporter.h"

#include <csignal>

namespace dlc::runtime::tool {
namespace {

RunOptions optionsOf(const TrainFlags &flags) {
  return {.module = flags.module,
          .device = flags.device,
          .data = flags.data,
          .augment = flags.augment,
          .load = flags.load,
          .seed = flags.seed,
          .epochs = flags.epochs,
          .steps = flags.steps,
          .overrides = flags.overrides,
          .checkpoint = flags.checkpoint,
          .checkpointEvery = flags.checkpointEvery,
          .resume = flags.resume,
          .overwrite = flags.overwrite,
          .initFrom = flags.initFrom,
          .checkRanks = flags.checkRanks,
          .keep = flags.keep,
          .saveBest = flags.saveBest,
          .evaluateEvery = flags.evaluateEvery,
          .patience = flags.patience,
          .minDelta = flags.minDelta,
          .patienceMetric = flags.patienceMetric,
          .timeLimit = flags.timeLimit,
          .rename = flags.rename,
          .logFile = flags.log,
          .limit = flags.limit,
          .overfitBatches = flags.overfitBatches,
          .fastDevRun = flags.fastDevRun,
          .checkFinite = flags.checkFinite,
          .norms = flags.norms,
          .share = flags.share,
          .tensorboard = flags.tensorboard,
          .histograms = flags.histograms};
}

Status checkTrace(const TrainFlags &flags) {
  if (flags.trace.empty())
    return {};
  if (isSameFile(flags.trace, flags.checkpoint))
    return invalid(flags.trace, ": is the checkpoint as well; name another file for the trace");
  return checkWritable(flags.trace, inputsOf(optionsOf(flags)));
}

/// What begins: what of it will be kept, and whether there is anything to do.
void sayBegin(const TrainFlags &flags, const Run &run) {
  if (flags.checkpoint.empty() && !flags.fastDevRun)
    printNotes({"no --checkpoint: nothing that is trained will be kept"});
  if (const uint64_t done = run.progress().epoch; done >= run.epochs())
    printNotes({concat("nothing to do: ", flags.checkpoint, " has trained ", done, " of ",
                       run.epochs(), " epochs; --epochs ", done + 1, " trains one more")});
}

/// What the end of a run says: what was kept of it, and how to go on. That a checkpoint could not
/// be written is said elsewhere.
void sayEnd(const TrainFlags &flags, const Run &run) {
  const TrainingProgress &end = run.progress();
  const bool complete = end.epoch >= run.epochs();
  std::string line = concat(complete ? "done" : "stopped", " after step ", end.step, "; ");
  if (flags.fastDevRun)
    line += "nothing was kept, as there is --fast-dev-run";
  else if (flags.checkpoint.empty())
    line += "nothing was kept, as there is no --checkpoint";
  else if (run.lastSaved() != end.step)
    return;
  else if (complete)
    line += concat(flags.checkpoint, ": --resume --epochs ", end.epoch + 1, " trains one more");
  else
    line += concat(flags.checkpoint, ": --resume continues");
  printNotes({line});
}

/// The curve, thinned, and what it suggests.
void printRates(const RateSearch &found) {
  constexpr size_t rows = 20;
  Table table({"rate", "loss", "smoothed"});
  const size_t each = (found.points.size() + rows - 1) / rows;
  for (size_t i = 0; i < found.points.size(); ++i) {
    const RatePoint &point = found.points[i];
    if (i % each == 0 || i + 1 == found.points.size())
      table.add(
          {printf("%.3g", point.rate), printf("%.4g", point.loss), printf("%.4g", point.smoothed)});
  }
  table.print();
  if (found.diverged)
    std::printf("the loss diverged at %.3g\n", found.points.back().rate);
  if (found.suggested)
    std::printf("suggested, as the loss falls the steepest there: --override %s=%.2g\n",
                found.setting.c_str(), *found.suggested);
  else
    std::printf("the loss falls nowhere: no rate is suggested\n");
}

/// A sweep in the place of a training.
Status findRate(const TrainFlags &flags, Run &run, bool first, const SharedLog &log) {
  RateSearchOptions options{.from = flags.rateFrom, .to = flags.rateTo};
  if (flags.steps)
    options.steps = *flags.steps;
  if (first && flags.json)
    options.hear = [](const RatePoint &point) { printJson(describe(point)); };
  Result<RateSearch> found = run.findRate(options);
  if (!found.ok())
    return log.unsaid(found.takeStatus());
  if (!first)
    return {};
  if (!flags.json) {
    printRates(*found);
    return {};
  }
  Json summary = {{"setting", found->setting},
                  {"suggested", found->suggested ? Json(*found->suggested) : Json()},
                  {"diverged", found->diverged},
                  {"steps", found->points.size()},
                  {"summary", true}};
  printJson(summary);
  return {};
}

Status trainAmong(const TrainFlags &flags, const std::shared_ptr<Transport> &ranks) {
  const bool first = ranks->rank() == 0;
  DLC_TRY(beginTogether(*ranks, first ? checkTrace(flags) : Status(),
                        {{"--trace", flags.trace.empty() ? "none" : "a file"},
                         {"--find-rate", flags.findsRate ? "given" : "none"}}));
  DLC_TRY_ASSIGN(tracer, Tracer::begin(flags.trace, *ranks));
  const SharedLog log(first);
  RunOptions options = optionsOf(flags);
  options.ranks = std::make_shared<Ranks>(ranks);
  options.log = log;
  options.timeline = tracer->timeline();
  Result<std::unique_ptr<Run>> opened = Run::open(std::move(options));
  if (!opened.ok())
    return log.unsaid(opened.takeStatus());
  Run &run = **opened;
  DLC_TRY(selectEntry(*run.module(), "", DLC_ENTRY_TRAIN).takeStatus());
  if (flags.findsRate)
    return findRate(flags, run, first, log);
  const bool isDone = run.progress().epoch >= run.epochs();
  if (first)
    sayBegin(flags, run);
  stopOn({SIGINT, SIGTERM, SIGHUP, SIGPIPE});
  SignalObserver signals(first);
  const Plan &plan = run.module()->plan();
  if (!first) {
    DLC_TRY(log.unsaid(run.train({&signals})));
    return tracer->finish(plan, *ranks, nullptr);
  }
  TrainReporter reporter({.json = flags.json,
                          .steps = flags.steps,
                          .averaged = keepsAverages(plan),
                          .plain = launchedBy().by == "mpirun"});
  Status trained = log.unsaid(run.train({&reporter, &signals}));
  if (!trained.ok() && run.checkpointStatus().ok())
    return trained;
  if (!isDone)
    sayEnd(flags, run);
  Json summary = reporter.summary(run.progress());
  DLC_TRY(tracer->finish(plan, *ranks, flags.json ? &summary : nullptr));
  if (flags.json)
    printJson(summary);
  return trained;
}

} // namespace

Status train(const TrainFlags &flags) {
  // mpirun passes these on to its ranks, and may do so while others are being started; by SIGUSR2
  // launch asks them to stop.
  stopOn({SIGUSR2});
  saveOn(SIGUSR1);
  return amongRanks("train", flags, [&](const auto &ranks) { return trainAmong(flags, ranks); });
}

} // namespace dlc::runtime::tool
