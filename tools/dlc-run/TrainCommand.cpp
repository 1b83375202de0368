// dlc-run train: from initial values or a checkpoint to a trained model.
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/Safetensors.h"
#include "runtime/Training/Trainer.h"
#include "tools/dlc-run/Command.h"
#include "tools/dlc-run/Output.h"
#include "tools/dlc-run/Progress.h"

#include <csignal>
#include <filesystem>

namespace dlc::runtime::tool {
namespace {

/// Set by a signal that asks for the end: the run then ends after the current step, with a
/// checkpoint.
volatile std::sig_atomic_t interrupted = 0;

/// A second signal of the kind ends the process at once, but for SIGPIPE: each further line of
/// output raises one, also before the checkpoint is written. A signal that whoever started the
/// process ignores, as nohup does, stays ignored.
void stopOnSignals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
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

/// Shows a run to people or, with --json, to scripts.
class Reporter : public TrainObserver {
public:
  Reporter(bool json, std::optional<uint64_t> stepLimit) : json(json), stepLimit(stepLimit) {}

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
               metricsText(report.epoch) + printf("  %.0f images/s", rate),
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
               printf("  %.0f images/s", static_cast<double>(samples) / seconds));
    if (report.test)
      line += "  test " + metricsText(report.test->metrics);
    bar.finish(line);
  }

  void onCheckpointFailed(const Status &reason) override {
    bar.clear();
    std::fprintf(stderr, "warning: %s; training goes on\n", std::string(reason.message()).c_str());
  }

  /// What is printed last.
  void summary(const Trainer &trainer) {
    if (!json)
      return;
    Json line = last ? describe(*last) : Json::object();
    line["steps"] = steps;
    line["seed"] = trainer.progress().seed;
    line["seconds"] = seconds;
    line["images_per_second"] = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
    line["summary"] = true;
    printJson(line);
  }

private:
  static Json describe(const EpochReport &report) {
    Json line = {{"epoch", report.progress.epoch}, {"step", report.progress.step}};
    addMetrics(line, report.train);
    if (report.test)
      addMetrics(line, report.test->metrics, "test_");
    return line;
  }

  bool json;
  std::optional<uint64_t> stepLimit;
  ProgressLine bar;
  std::optional<EpochReport> last;
  uint64_t steps = 0, samples = 0;
  double seconds = 0;
};

/// The test data; none for a module that evaluates nothing, or where no test files are.
Result<std::shared_ptr<const Dataset>> openTestData(const TrainFlags &flags, const Module &module) {
  if (!module.plan().findEntry(DLC_ENTRY_EVALUATE))
    return std::shared_ptr<const Dataset>();
  if (hasSplit(flags.data, Split::Test))
    return openDataset(flags.data, Split::Test);
  std::fprintf(stderr, "note: %s: no test files, so epochs end without an evaluation\n",
               flags.data.c_str());
  return std::shared_ptr<const Dataset>();
}

/// Loads the checkpoint of an earlier run; afterwards the run goes on as if it had never ended.
Result<Metadata> resumeFrom(const TrainFlags &flags, State &state, TrainingProgress &progress) {
  DLC_TRY_ASSIGN(metadata, loadVariables(state, flags.checkpoint, LoadMode::Everything));
  Result<TrainingProgress> found = progressFrom(metadata);
  if (!found.ok())
    return found.takeStatus().in(flags.checkpoint);
  if (flags.seed && *flags.seed != found->seed)
    return invalid(flags.checkpoint, ": was trained with seed ", found->seed, ", --seed is ",
                   *flags.seed);
  progress = *found;
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

/// Nothing that was read or trained before is lost by a mistake: a checkpoint that is there is
/// continued, or replaced on demand; any other file is never replaced.
Status checkCheckpoint(const TrainFlags &flags, const Plan &plan) {
  const std::string &path = flags.checkpoint;
  DLC_TRY(checkWritable(path, std::vector{flags.module, flags.initFrom}));
  if (flags.resume || !holdsSomething(path))
    return {};
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  Result<TrainingProgress> progress =
      file.ok() ? progressFrom(file->metadata()) : Result<TrainingProgress>(file.takeStatus());
  if (!progress.ok())
    return invalid(path, ": exists and is no checkpoint; name another file, or remove it");
  if (flags.overwrite)
    return {};
  auto model = file->metadata().find("model");
  if (model != file->metadata().end() && model->second != plan.model)
    return invalid(path, ": is a checkpoint of model '", model->second, "', the module's is '",
                   plan.model, "'; --overwrite replaces it");
  return invalid(path, ": is the checkpoint of an earlier run, after step ", progress->step,
                 "; --resume continues it, --overwrite replaces it");
}

/// Says on standard error what was not found, as a new last layer is not.
Status initialiseFrom(const std::string &path, State &state) {
  DLC_TRY_ASSIGN(report, loadMatching(state, path));
  if (report.missing.empty())
    return {};
  std::string names;
  for (const std::string &name : report.missing)
    addItem(names, name);
  std::fprintf(stderr, "note: %s: %zu of %zu taken; these begin as in a new run: %s\n",
               path.c_str(), report.taken, report.taken + report.missing.size(), names.c_str());
  return {};
}

} // namespace

Status train(const TrainFlags &flags) {
  TrainOptions options{.epochs = flags.epochs,
                       .steps = flags.steps,
                       .checkpoint = flags.checkpoint,
                       .checkpointEvery = flags.checkpointEvery,
                       .overrides = flags.overrides};
  DLC_TRY_ASSIGN(state, flags.createState());
  if (!flags.checkpoint.empty())
    DLC_TRY(checkCheckpoint(flags, state->module()->plan()));
  if (!flags.initFrom.empty())
    DLC_TRY(initialiseFrom(flags.initFrom, *state));
  DLC_TRY_ASSIGN(trainData, openDataset(flags.data, Split::Train));
  DLC_TRY_ASSIGN(testData, openTestData(flags, *state->module()));
  TrainingProgress progress;
  progress.seed = flags.seed.value_or(0);
  Metadata metadata;
  if (flags.resume) {
    DLC_TRY_ASSIGN(loaded, resumeFrom(flags, *state, progress));
    metadata = std::move(loaded);
  }
  DLC_TRY_ASSIGN(trainer, Trainer::create(state, trainData, testData, options, progress));
  DLC_TRY(trainer->restore(metadata).in(flags.checkpoint));
  if (progress.epoch >= trainer->epochs())
    std::fprintf(
        stderr,
        "note: nothing to do: %s has trained %llu of %llu epochs; --epochs %llu trains one more\n",
        flags.checkpoint.c_str(), static_cast<unsigned long long>(progress.epoch),
        static_cast<unsigned long long>(trainer->epochs()),
        static_cast<unsigned long long>(progress.epoch + 1));
  stopOnSignals();
  Reporter reporter(flags.json, flags.steps);
  DLC_TRY(trainer->run(reporter).in(flags.module));
  reporter.summary(*trainer);
  return trainer->checkpointStatus();
}

} // namespace dlc::runtime::tool
