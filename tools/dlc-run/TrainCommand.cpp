// dlc-run train: from initial values or a checkpoint to a trained model.
#include "runtime/Core/FileKind.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/ModuleFile.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Device/Device.h"
#include "runtime/Training/Ranks.h"
#include "runtime/Training/Trainer.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Progress.h"
#include "tools/dlc-run/TraceFile.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace dlc::runtime::tool {
namespace {

/// Set by a signal that asks for the end: the run then ends after the current step, with a
/// checkpoint.
volatile std::sig_atomic_t interrupted = 0;

/// A second signal of the kind ends the process at once, but for SIGPIPE: each further line of
/// output raises one, also before the checkpoint is written. mpirun passes SIGUSR1 on to its ranks.
/// A signal that whoever started the process ignores, as nohup does, stays ignored.
void stopOn(std::initializer_list<int> signals) {
  for (int signal : signals) {
    struct sigaction before, action = {};
    action.sa_handler = [](int number) {
      interrupted = 1;
      if (number == SIGPIPE)
        std::signal(SIGPIPE, SIG_IGN);
    };
    action.sa_flags = SA_RESTART | (signal == SIGPIPE ? 0 : int(SA_RESETHAND));
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
}

/// In a log, epochs that are shorter have a line each, which is written at their end.
constexpr std::chrono::seconds logPause(10);

/// Shows a run to people or, with --json, to scripts.
class Reporter : public TrainObserver {
public:
  /// `averaged`: evaluations are of the averages of the weights, epochs of the weights themselves.
  Reporter(bool json, std::optional<uint64_t> stepLimit, bool averaged, bool plain)
      : json(json), averaged(averaged), stepLimit(stepLimit), bar(plain, logPause) {}

  bool shouldStop() override { return interrupted != 0; }

  void onStep(const StepReport &report) override {
    ++steps;
    samples += report.samples;
    seconds += report.seconds;
    if (json) {
      Json line = {{"step", report.progress.step}, {"epoch", report.progress.epoch + 1}};
      addMetrics(line, report.batch);
      line["seconds"] = report.seconds;
      return printJson(line);
    }
    const double rate = static_cast<double>(samples) / seconds;
    uint64_t left = report.stepsInEpoch - report.progress.position +
                    (report.epochs - report.progress.epoch - 1) * report.stepsInEpoch;
    if (stepLimit)
      left = std::min(left, *stepLimit - steps);
    bar.update(concat("epoch ", report.progress.epoch + 1, "/", report.epochs),
               report.progress.position, report.stepsInEpoch,
               metricsText(report.epoch) + printf("  %.0f samples/s", rate),
               static_cast<double>(left) * seconds / static_cast<double>(steps));
  }

  void onEpoch(const EpochReport &report) override {
    last = report;
    if (json)
      return printJson(describe(report));
    std::string line =
        concat(report.progress.position == 0 ? "epoch " : "stopped in epoch ",
               report.progress.position == 0 ? report.progress.epoch : report.progress.epoch + 1,
               "  ", metricsText(report.train),
               printf("  %.0f samples/s", static_cast<double>(samples) / seconds));
    if (report.test)
      line +=
          (averaged ? "  test of the averages " : "  test ") + metricsText(report.test->metrics);
    bar.finish(line + ratesText(report));
  }

  void onCheckpointFailed(const Status &reason) override {
    bar.clear();
    std::fprintf(stderr, "warning: %s; training goes on\n", std::string(reason.message()).c_str());
  }

  /// What is printed last.
  Json summary(const Trainer &trainer) const {
    Json line = last ? describe(*last) : Json::object();
    line["steps"] = steps;
    line["seed"] = trainer.progress().seed;
    line["seconds"] = seconds;
    line["samples_per_second"] = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
    line["summary"] = true;
    return line;
  }

private:
  /// A single rate needs no name of its own.
  static std::string ratesText(const EpochReport &report) {
    std::string text;
    for (const auto &[name, rate] : report.rates)
      text +=
          concat("  ", report.rates.size() == 1 ? "learning_rate" : name) + printf(" %.4g", rate);
    return text;
  }

  Json describe(const EpochReport &report) const {
    Json line = {{"epoch", report.progress.epoch}, {"step", report.progress.step}};
    addMetrics(line, report.train);
    for (const auto &[name, rate] : report.rates)
      line["learning_rates"][std::string(name)] = rate;
    if (report.test)
      addMetrics(line, report.test->metrics, "test_");
    if (report.test && averaged)
      line["test_of"] = "averages";
    return line;
  }

  bool json, averaged;
  std::optional<uint64_t> stepLimit;
  ProgressLine bar;
  std::optional<EpochReport> last;
  uint64_t steps = 0, samples = 0;
  double seconds = 0;
};

/// A rank that says nothing: rank 0 speaks for all.
class SilentRank : public TrainObserver {
public:
  bool shouldStop() override { return interrupted != 0; }
};

/// The test data; none for a module that evaluates nothing, or where there are none.
Result<std::shared_ptr<const Dataset>> openTestData(const TrainFlags &flags, const Module &module,
                                                    bool speaks) {
  const EntryInfo *reader = module.plan().findEntry(DLC_ENTRY_EVALUATE);
  if (!reader)
    return std::shared_ptr<const Dataset>();
  if (hasSplit(flags.data, Split::Test))
    return openDataset(flags.data, Split::Test, reader);
  if (speaks)
    printNotes({concat(flags.data, ": no test data (", testDataText(flags.data),
                       "), so epochs end without an evaluation")});
  return std::shared_ptr<const Dataset>();
}

/// Loads the checkpoint of an earlier run; afterwards the run goes on as if it had never ended.
Result<Metadata> resumeFrom(const TrainFlags &flags, State &state) {
  DLC_TRY_ASSIGN(metadata, loadVariables(state, flags.checkpoint, LoadMode::Everything));
  Result<TrainingProgress> found = progressFrom(metadata);
  if (!found.ok())
    return found.takeStatus().in(flags.checkpoint);
  if (flags.seed && *flags.seed != found->seed)
    return invalid(flags.checkpoint, ": was trained with seed ", found->seed, ", --seed is ",
                   *flags.seed);
  if (metadata["graph_hash"] != state.module()->graphHash())
    std::fprintf(stderr,
                 "warning: %s: written by another build of the model; results may differ in bits\n",
                 flags.checkpoint.c_str());
  return metadata;
}

bool holdsSomething(const std::string &path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         std::filesystem::file_size(path, error) != 0 && !error;
}

std::vector<std::string> inputsOf(const TrainFlags &flags) {
  std::vector<std::string> inputs = dataFiles(flags.data);
  inputs.insert(inputs.end(), {flags.module, flags.initFrom});
  return inputs;
}

Status checkTrace(const TrainFlags &flags) {
  if (isSameFile(flags.trace, flags.checkpoint))
    return invalid(flags.trace, ": is the checkpoint as well; name another file for the trace");
  return checkWritable(flags.trace, inputsOf(flags));
}

/// Nothing that was read or trained before is lost by a mistake: a checkpoint that is there is
/// continued, or replaced on demand; any other file is never replaced.
Status checkCheckpoint(const TrainFlags &flags, const Plan &plan) {
  const std::string &path = flags.checkpoint;
  DLC_TRY(checkWritable(path, inputsOf(flags)));
  if (flags.resume || !holdsSomething(path))
    return {};
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  Result<TrainingProgress> progress =
      file.ok() ? progressFrom(file->metadata()) : Result<TrainingProgress>(file.takeStatus());
  if (!progress.ok()) {
    const std::string_view kind = fileKind(path);
    return invalid(path, ": exists and is ", kind.empty() ? "" : concat(kind, ", "),
                   "no checkpoint; name another file, or remove it");
  }
  if (flags.overwrite)
    return {};
  auto model = file->metadata().find("model");
  if (model != file->metadata().end() && model->second != plan.model)
    return invalid(path, ": is a checkpoint of model '", model->second, "', the module's is '",
                   plan.model, "'; --overwrite replaces it");
  return invalid(path, ": is the checkpoint of an earlier run, after step ", progress->step,
                 "; --resume continues it, --overwrite replaces it");
}

std::string listOf(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    addItem(list, name);
  return list;
}

/// Says on standard error what was not found, as a new last layer is not, and what was not taken,
/// as the old one is not.
Status initialiseFrom(const std::string &path, State &state) {
  DLC_TRY_ASSIGN(report, loadMatching(state, path));
  if (!report.missing.empty())
    std::fprintf(stderr, "note: %s: %zu of %zu taken; these begin as in a new run: %s\n",
                 path.c_str(), report.taken, report.taken + report.missing.size(),
                 listOf(report.missing).c_str());
  if (!report.unused.empty())
    std::fprintf(stderr, "note: %s: %zu of its tensors are not the model's: %s\n", path.c_str(),
                 report.unused.size(), listOf(report.unused).c_str());
  return {};
}

/// What a rank needs before the first step.
struct Prepared {
  std::shared_ptr<State> state;
  std::shared_ptr<const Dataset> train, test;
  /// Of the checkpoint that is resumed; read by rank 0.
  Metadata metadata;
  CarriedStates carried;
  Facts facts;
};

/// What the ranks must have alike.
Facts factsOf(const TrainFlags &flags, const Prepared &prepared) {
  std::string overrides;
  for (const auto &[name, value] : flags.overrides)
    addItem(overrides, concat(name, "=", decimalText(value)));
  Facts facts = commonFacts(flags, *prepared.state);
  const Facts own = {
      {"training data of", describeSamples(*prepared.train)},
      {"test data of", prepared.test ? describeSamples(*prepared.test) : "none"},
      {"--epochs", optionalText(flags.epochs)},
      {"--steps", optionalText(flags.steps)},
      {"--checkpoint", flags.checkpoint.empty() ? "none" : "a file"},
      {"--resume", flags.resume ? "given" : "none"},
      {"--init-from", flags.initFrom.empty() ? "none" : "a file"},
      {"--checkpoint-every", std::to_string(flags.checkpointEvery)},
      {"--check-ranks", std::to_string(flags.checkRanks)},
      {"--augment", concat("crop:", flags.augmentation.crop, " flip:", flags.augmentation.flip)},
      {"--override", overrides.empty() ? "none" : overrides}};
  facts.insert(facts.end(), own.begin(), own.end());
  return facts;
}

/// How many ranks wrote a checkpoint.
Result<uint64_t> ranksBefore(const TrainFlags &flags, const Metadata &metadata) {
  const auto saved = metadata.find("ranks");
  const uint64_t before =
      saved == metadata.end() ? 1 : std::strtoull(saved->second.c_str(), nullptr, 10);
  if (before == 0)
    return damaged(flags.checkpoint, ": 'ranks' in the metadata is no whole number");
  return before;
}

/// What each rank does by itself. Rank 0 alone reads checkpoints and writes them.
Result<Prepared> prepare(const TrainFlags &flags, const std::shared_ptr<Transport> &ranks,
                         unsigned threads) {
  const bool first = ranks->rank() == 0;
  Prepared prepared;
  DLC_TRY_ASSIGN(state, flags.createStateAmong(ranks, threads));
  const Plan &plan = state->module()->plan();
  if (!flags.checkpoint.empty() && first)
    DLC_TRY(checkCheckpoint(flags, plan));
  if (!flags.trace.empty() && first)
    DLC_TRY(checkTrace(flags));
  if (!flags.initFrom.empty() && first)
    DLC_TRY(initialiseFrom(flags.initFrom, *state));
  DLC_TRY_ASSIGN(reader, selectEntry(*state->module(), "", DLC_ENTRY_TRAIN));
  DLC_TRY_ASSIGN(trainData, openDataset(flags.data, Split::Train, reader));
  DLC_TRY_ASSIGN(testData, openTestData(flags, *state->module(), first));
  if (flags.resume && first) {
    DLC_TRY_ASSIGN(metadata, resumeFrom(flags, *state));
    DLC_TRY_ASSIGN(before, ranksBefore(flags, metadata));
    DLC_TRY_ASSIGN(carried, loadCarried(*state, flags.checkpoint, before));
    prepared.metadata = std::move(metadata);
    prepared.carried = std::move(carried);
  }
  prepared.state = std::move(state);
  prepared.train = std::move(trainData);
  prepared.test = std::move(testData);
  if (ranks->ranks() > 1)
    prepared.facts = factsOf(flags, prepared);
  return prepared;
}

/// What another number of ranks than before makes of an epoch that has begun.
std::string describeRest(const Dataset &data, uint64_t batches, unsigned ranks) {
  if (data.isSequence())
    return "the rest of the epoch reads other parts of the text";
  const uint64_t again = batches % ranks;
  return concat(again, again == 1 ? " batch of the epoch is" : " batches of the epoch are",
                " trained again");
}

/// What it makes of learning rates.
std::string describeRates(const Plan &plan, const TrainingProgress &progress, unsigned ranks) {
  return concat("learning rates are ",
                ratesFollowBatch(plan) ? concat("scaled for ", ranks) : std::string("not scaled"),
                ", warm-up and schedule go on in epoch ", progress.epoch + 1);
}

bool compressesSums(const Plan &plan) {
  return std::ranges::any_of(plan.records, [](const dlc_record &record) {
    return record.kind == DLC_RECORD_COLLECTIVE && record.index != DLC_COLLECTIVE_SUM;
  });
}

/// Where the run begins. Among another number of ranks than before, an epoch goes on behind the
/// samples that have been seen, states that are carried begin anew, and residuals are shared.
Result<TrainingProgress> startOf(const TrainFlags &flags, Transport &ranks, Prepared &prepared) {
  if (!flags.resume)
    return TrainingProgress{.seed = flags.seed.value_or(0)};
  DLC_TRY_ASSIGN(progress, progressFrom(prepared.metadata));
  DLC_TRY_ASSIGN(before, ranksBefore(flags, prepared.metadata));
  const Plan &plan = prepared.state->module()->plan();
  const char *file = flags.checkpoint.c_str();
  const bool speaks = ranks.rank() == 0;
  if (speaks && before > 1 && compressesSums(plan) &&
      !hasResiduals(*prepared.state, prepared.carried))
    std::fprintf(stderr, "note: %s: compressed sums begin with nothing left out\n", file);
  if (before == ranks.ranks()) {
    DLC_TRY(scatterStates(ranks, prepared.carried, *prepared.state));
    return progress;
  }
  DLC_TRY(shareResiduals(ranks, prepared.carried, *prepared.state));
  const uint64_t batches = progress.position * before;
  progress.position = batches / ranks.ranks();
  if (speaks)
    std::fprintf(stderr, "note: %s: trained by %llu rank%s before, now %u; %s; %s\n", file,
                 static_cast<unsigned long long>(before), before == 1 ? "" : "s", ranks.ranks(),
                 describeRest(*prepared.train, batches, ranks.ranks()).c_str(),
                 describeRates(plan, progress, ranks.ranks()).c_str());
  if (!carriesStates(plan) || progress.position == 0)
    return progress;
  if (speaks)
    std::fprintf(stderr, "warning: %s: carried states begin anew\n", file);
  DLC_TRY(prepared.state->reset(DLC_ROLE_STATE));
  return progress;
}

Result<std::unique_ptr<Trainer>> createTrainer(const Prepared &prepared,
                                               const TrainOptions &options,
                                               const TrainingProgress &progress) {
  return guarded([&]() -> Result<std::unique_ptr<Trainer>> {
    DLC_TRY_ASSIGN(
        trainer, Trainer::create(prepared.state, prepared.train, prepared.test, options, progress));
    DLC_TRY(trainer->restore(prepared.metadata).in(options.checkpoint));
    return trainer;
  });
}

/// What the end of a run says: what was kept of it, and how to go on. That a checkpoint could not
/// be written is said elsewhere.
void sayEnd(const TrainFlags &flags, const Trainer &trainer) {
  const TrainingProgress &end = trainer.progress();
  const bool complete = end.epoch >= trainer.epochs();
  std::string line = concat(complete ? "done" : "stopped", " after step ", end.step, "; ");
  if (flags.checkpoint.empty())
    line += "nothing was kept, as there is no --checkpoint";
  else if (trainer.lastSaved() != end.step)
    return;
  else if (complete)
    line += concat(flags.checkpoint, ": --resume --epochs ", end.epoch + 1, " trains one more");
  else
    line += concat(flags.checkpoint, ": --resume continues");
  std::fprintf(stderr, "note: %s\n", line.c_str());
}

Status trainAmong(const TrainFlags &flags, const std::shared_ptr<Transport> &ranks) {
  const bool first = ranks->rank() == 0;
  DLC_TRY_ASSIGN(threads, threadsOfRank(*ranks));
  Result<Prepared> prepared = guarded([&] { return prepare(flags, ranks, threads); });
  DLC_TRY(beginTogether(*ranks, prepared.status(), prepared.ok() ? prepared->facts : Facts()));
  DLC_TRY(broadcastRun(*ranks, prepared->metadata, *prepared->state));
  DLC_TRY_ASSIGN(progress, startOf(flags, *ranks, *prepared));
  DLC_TRY_ASSIGN(tracer, Tracer::begin(flags.trace, *ranks));
  const TrainOptions options{.epochs = flags.epochs,
                             .steps = flags.steps,
                             .checkpoint = flags.checkpoint,
                             .checkpointEvery = flags.checkpointEvery,
                             .checkRanks = flags.checkRanks,
                             .augmentation = flags.augmentation,
                             .overrides = flags.overrides,
                             .timeline = tracer->timeline()};
  Result<std::unique_ptr<Trainer>> created = createTrainer(*prepared, options, progress);
  DLC_TRY(beginTogether(*ranks, created.status(), {}));
  const std::unique_ptr<Trainer> trainer = std::move(*created);
  const bool isDone = progress.epoch >= trainer->epochs();
  if (first)
    printNotes(trainer->notes());
  if (flags.checkpoint.empty() && first)
    std::fprintf(stderr, "note: no --checkpoint: nothing that is trained will be kept\n");
  if (isDone && first)
    std::fprintf(
        stderr,
        "note: nothing to do: %s has trained %llu of %llu epochs; --epochs %llu trains one more\n",
        flags.checkpoint.c_str(), static_cast<unsigned long long>(progress.epoch),
        static_cast<unsigned long long>(trainer->epochs()),
        static_cast<unsigned long long>(progress.epoch + 1));
  stopOn({SIGINT, SIGTERM, SIGHUP, SIGPIPE});
  const Plan &plan = prepared->state->module()->plan();
  if (!first) {
    SilentRank silent;
    DLC_TRY(trainer->run(silent).in(flags.module));
    return tracer->finish(plan, *ranks, nullptr);
  }
  Reporter reporter(flags.json, flags.steps, keepsAverages(plan), launchedBy().by == "mpirun");
  DLC_TRY(trainer->run(reporter).in(flags.module));
  if (!isDone)
    sayEnd(flags, *trainer);
  Json summary = reporter.summary(*trainer);
  DLC_TRY(tracer->finish(plan, *ranks, flags.json ? &summary : nullptr));
  if (flags.json)
    printJson(summary);
  return trainer->checkpointStatus();
}

} // namespace

Status train(const TrainFlags &flags) {
  // mpirun may pass it on while the other ranks are being started.
  stopOn({SIGUSR1});
  return amongRanks("train", flags, [&](const auto &ranks) { return trainAmong(flags, ranks); });
}

} // namespace dlc::runtime::tool
