// A run: what it begins with, its trainer, and what it evaluates and predicts with.
#include "dlc/run.h"
#include "runtime/Core/PathClaim.h"
#include "runtime/Core/Processes.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Entries.h"
#include "runtime/Training/DatasetPredictor.h"
#include "runtime/Training/FirstPictures.h"
#include "runtime/Training/Predictor.h"
#include "runtime/Training/RateFinder.h"
#include "runtime/Training/ReportLog.h"
#include "runtime/Training/RunStart.h"
#include "runtime/Training/Trainer.h"
#include "runtime/Training/Weights.h"

#include <algorithm>
#include <atomic>

namespace dlc::runtime {
namespace {

/// Several observers as one. Other ranks wait for them as for code that is not the library's.
class Observers : public TrainObserver {
public:
  Observers(std::vector<TrainObserver *> all, Transport &ranks)
      : all(std::move(all)), ranks(ranks) {}
  void onStep(const StepReport &report) override {
    const PhaseScope outside(ranks, Phase::Program);
    for (TrainObserver *each : all)
      each->onStep(report);
  }
  void onEpoch(const EpochReport &report) override {
    const PhaseScope outside(ranks, Phase::Program);
    for (TrainObserver *each : all)
      each->onEpoch(report);
  }
  void onEvaluation(const EvaluationReport &report) override {
    const PhaseScope outside(ranks, Phase::Program);
    for (TrainObserver *each : all)
      each->onEvaluation(report);
  }
  void onCheckpoint(const std::string &path) override {
    const PhaseScope outside(ranks, Phase::Program);
    for (TrainObserver *each : all)
      each->onCheckpoint(path);
  }
  void onCheckpointFailed(const Status &reason) override {
    const PhaseScope outside(ranks, Phase::Program);
    for (TrainObserver *each : all)
      each->onCheckpointFailed(reason);
  }
  bool shouldStop() override {
    const PhaseScope outside(ranks, Phase::Program);
    bool stop = false;
    for (TrainObserver *each : all)
      stop |= each->shouldStop();
    return stop;
  }
  bool shouldSave() override {
    const PhaseScope outside(ranks, Phase::Program);
    bool save = false;
    for (TrainObserver *each : all)
      save |= each->shouldSave();
    return save;
  }

private:
  std::vector<TrainObserver *> all;
  Transport &ranks;
};

} // namespace

struct Run::Impl {
  explicit Impl(RunOptions given) : options(std::move(given)), hasLogged(options.resume) {}
  Status start();
  Status createTrainer();
  Status createEvaluator();
  Status bind(std::span<const Array> arrays);
  Status needTrainer() { return trainer ? Status() : createTrainer(); }
  Status checkProcess() const;
  Status checkTrainingData() const;
  Result<PathClaim> claimCheckpoint() const;
  Status openLog(std::vector<std::string> columns);
  Status openEvents();
  Result<std::unique_ptr<Trainer>> rateTrainer(uint64_t steps);
  Result<RateSearch> findRate(RateSearchOptions options);
  Result<Evaluator *> needEvaluator();
  Result<std::unique_ptr<Evaluator>> evaluatorOn(std::shared_ptr<const Dataset> data);
  Result<Predictor *> needPredictor(std::string_view entry);
  Result<std::unique_ptr<DatasetPredictor>> predictorOn(std::shared_ptr<const Dataset> data,
                                                        const std::string &entry);
  /// What is said of this rank's samples: rank 0 alone has somebody who hears.
  Log ownLog() const { return ranks->rank() == 0 ? options.log : Log(); }
  const Module &module() const { return *begin.state->module(); }
  bool hasTrainingData() const { return begin.train || options.batches.fill; }

  RunOptions options;
  std::shared_ptr<Transport> ranks;
  RunBeginning begin;
  std::unique_ptr<Trainer> trainer;
  /// Those of step().
  std::optional<ArrayBatches> batches;
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<ReportLog> reports;
  std::unique_ptr<EventFile> events;
  /// Whether the log goes on behind what is in it.
  bool hasLogged = false;
  std::map<std::string, std::unique_ptr<Predictor>, std::less<>> predictors;
  std::atomic<bool> stopAsked = false;
  const pid_t process = thisProcess();
};

/// The threads of a run are not in a child of its process.
Status Run::Impl::checkProcess() const {
  return thisProcess() == process
             ? Status()
             : invalid(options.module, ": the run belongs to process ", process,
                       ", of which this one was forked: it opens one of its own");
}

Status Run::Impl::start() {
  ranks = options.ranks ? options.ranks->transport() : selfTransport();
  ranks->setPhase(Phase::Start);
  DLC_TRY_ASSIGN(started, beginRun(options, ranks));
  begin = std::move(started);
  if (!hasTrainingData() && !begin.test)
    return {};
  Status created = guarded([&] { return hasTrainingData() ? createTrainer() : createEvaluator(); });
  DLC_TRY(agreeAloud(*ranks, created, {}, options.log));
  const Speaker speaker(options.log, ranks->rank() == 0);
  for (const std::string &note : trainer ? trainer->notes() : evaluator->notes())
    speaker.note(note);
  return {};
}

Status Run::Impl::createTrainer() {
  const PhaseScope loading(*ranks, Phase::Load);
  DLC_TRY(selectEntry(module(), "", DLC_ENTRY_TRAIN).takeStatus());
  DLC_TRY(checkDataParallel(*ranks, module()));
  DLC_TRY_ASSIGN(created, Trainer::create(begin.state, begin.train, begin.test, options,
                                          begin.augmentation, begin.progress));
  DLC_TRY(created->restore(begin.metadata).in(options.checkpoint));
  trainer = std::move(created);
  batches.emplace(trainer->entry());
  trainer->setLog(ownLog());
  if (trainer->testEvaluator())
    evaluator.reset();
  const std::string warning = compressionWarning(module().plan(), ranks->ranks());
  if (!warning.empty())
    Speaker(options.log, ranks->rank() == 0).warn(options.module, ": ", warning);
  return {};
}

/// A batch of the program's, for the next step.
Status Run::Impl::bind(std::span<const Array> arrays) {
  Result<const Batch &> batch = batches->take(arrays);
  return batch.ok() ? trainer->bind(*batch) : batch.takeStatus();
}

Status Run::Impl::createEvaluator() {
  const PhaseScope loading(*ranks, Phase::Load);
  DLC_TRY_ASSIGN(created,
                 Evaluator::create(begin.state, begin.test, options.load, begin.augmentation.test));
  evaluator = std::move(created);
  evaluator->setLog(ownLog());
  return {};
}

Status Run::Impl::checkTrainingData() const {
  if (hasTrainingData())
    return {};
  DLC_TRY_ASSIGN(entry, selectEntry(module(), "", DLC_ENTRY_TRAIN));
  return invalid("entry '", entry->name,
                 "' has no training data: `data`, `train` or `batches.fill` gives them");
}

/// The checkpoint is this run's while it trains; between its open() and now another may have had
/// it.
Result<PathClaim> Run::Impl::claimCheckpoint() const {
  if (options.checkpoint.empty() || options.fastDevRun || ranks->rank() != 0)
    return PathClaim();
  DLC_TRY_ASSIGN(claim, PathClaim::take(options.checkpoint));
  if (!trainer->lastSaved())
    DLC_TRY(checkCheckpoint(options, module().plan(), begin.progress));
  return claim;
}

/// Before the first batch, on rank 0: a log of lines with these columns.
Status Run::Impl::openLog(std::vector<std::string> columns) {
  if (reports || options.logFile.empty() || options.fastDevRun || ranks->rank() != 0)
    return {};
  auto failed = [this](const Status &reason) {
    Speaker(options.log, true).warn(reason.message(), "; training goes on without it");
  };
  DLC_TRY_ASSIGN(opened, ReportLog::open({.path = options.logFile,
                                          .append = hasLogged,
                                          .averaged = keepsAverages(module().plan()),
                                          .columns = std::move(columns),
                                          .failed = failed}));
  reports = std::move(opened);
  hasLogged = true;
  return {};
}

/// Before the first batch, on rank 0.
Status Run::Impl::openEvents() {
  if (events || options.tensorboard.empty() || options.fastDevRun || ranks->rank() != 0)
    return {};
  const PhaseScope loading(*ranks, Phase::Load);
  auto failed = [this](const Status &reason) {
    Speaker(options.log, true).warn(reason.message(), "; training goes on without it");
  };
  const TrainingProgress &at = trainer->progress();
  DLC_TRY_ASSIGN(opened, EventFile::open({.folder = options.tensorboard,
                                          .histograms = options.histograms,
                                          .averaged = keepsAverages(module().plan()),
                                          .failed = failed},
                                         begin.state, at.step));
  events = std::move(opened);
  const Status drawn = addFirstPictures(*events, options, begin, at, ranks->ranks());
  if (!drawn.ok())
    Speaker(options.log, true).note(drawn.message(), "; the events have no pictures");
  return {};
}

/// One on a copy of the weights, that writes nothing and ends for no metric.
Result<std::unique_ptr<Trainer>> Run::Impl::rateTrainer(uint64_t steps) {
  RunOptions own = options;
  own.steps = steps;
  own.epochs = steps; // Each has a batch at least.
  own.checkpoint.clear();
  own.saveBest.clear();
  own.evaluateEvery = own.patience = own.norms = 0;
  own.timeLimit = 0;
  own.fastDevRun = own.checkFinite = false;
  DLC_TRY_ASSIGN(copy, begin.state->clone());
  DLC_TRY_ASSIGN(created, Trainer::create(std::move(copy), begin.train, begin.test, own,
                                          begin.augmentation, {.seed = begin.progress.seed}));
  DLC_TRY(created->canHoldRate());
  return created;
}

Result<RateSearch> Run::Impl::findRate(RateSearchOptions wanted) {
  DLC_TRY(checkRateSearch(wanted));
  Result<std::unique_ptr<Trainer>> created = rateTrainer(wanted.steps);
  std::unique_ptr<ReportLog> ofTraining = std::exchange(reports, nullptr);
  const Status logged =
      created.ok() ? openLog({"report", "rate", "loss", "smoothed_loss"}) : Status();
  const Facts facts = {
      {"the rates of a sweep", concat(decimalText(wanted.from), ":", decimalText(wanted.to), " in ",
                                      wanted.steps, " steps")}};
  DLC_TRY(agreeAloud(*ranks, created.ok() ? logged : created.status(), facts, options.log));
  wanted.hear = [this, heard = std::move(wanted.hear)](const RatePoint &point) {
    if (reports)
      reports->onRate(point);
    if (heard)
      heard(point);
  };
  RateFinder finder(**created, wanted);
  Status swept = (*created)->run(finder, &stopAsked);
  reports = std::move(ofTraining);
  stopAsked = false;
  // A loss that is not finite is the end of a sweep as good as any.
  if (swept.code() == StatusCode::Failed && ranks->health().ok() && finder.hasBegun())
    finder.diverge();
  else
    DLC_TRY(std::move(swept));
  return std::move(finder).result();
}

Result<Evaluator *> Run::Impl::needEvaluator() {
  if (trainer && trainer->testEvaluator())
    return trainer->testEvaluator();
  if (evaluator)
    return evaluator.get();
  DLC_TRY_ASSIGN(entry, selectEntry(module(), "", DLC_ENTRY_EVALUATE));
  return invalid("entry '", entry->name, "' has no test data: `data` or `test` gives them");
}

/// On data that all ranks have alike.
Result<std::unique_ptr<Evaluator>> Run::Impl::evaluatorOn(std::shared_ptr<const Dataset> data) {
  const PhaseScope loading(*ranks, Phase::Load);
  Facts facts;
  Result<std::unique_ptr<Evaluator>> created = guarded([&]() -> Result<std::unique_ptr<Evaluator>> {
    DLC_TRY_ASSIGN(made,
                   Evaluator::create(begin.state, data, options.load, begin.augmentation.test));
    made->setLog(ownLog());
    if (ranks->ranks() > 1) {
      DLC_TRY_ASSIGN(samples, describeSamples(*data));
      facts.emplace_back("test data of", std::move(samples));
    }
    return made;
  });
  DLC_TRY(agreeAloud(*ranks, created.status(), facts, options.log));
  return created;
}

Result<Predictor *> Run::Impl::needPredictor(std::string_view entry) {
  if (const auto found = predictors.find(entry); found != predictors.end())
    return found->second.get();
  DLC_TRY_ASSIGN(selected, selectEntry(module(), entry, DLC_ENTRY_INFER));
  DLC_TRY_ASSIGN(created, Predictor::create(begin.state, selected->name));
  return predictors.emplace(entry, std::move(created)).first->second.get();
}

Result<std::unique_ptr<DatasetPredictor>>
Run::Impl::predictorOn(std::shared_ptr<const Dataset> data, const std::string &entry) {
  if (!data)
    return invalid("`data` is null");
  DLC_TRY_ASSIGN(selected, selectEntry(module(), entry, DLC_ENTRY_INFER));
  // Each sample has its prediction.
  LoadOptions load = options.load;
  load.maxBadRecords = 0;
  DLC_TRY_ASSIGN(created, DatasetPredictor::create(begin.state, selected->name, std::move(data),
                                                   load, begin.augmentation.test));
  const Speaker speaker(options.log, ranks->rank() == 0);
  for (const std::string &note : created->notes())
    speaker.note(note);
  return created;
}

Run::Run(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Run::~Run() = default;

Result<std::unique_ptr<Run>> Run::open(RunOptions options) {
  return guarded([&]() -> Result<std::unique_ptr<Run>> {
    auto impl = std::make_unique<Impl>(std::move(options));
    DLC_TRY(impl->start());
    impl->ranks->setPhase(Phase::Program);
    return std::unique_ptr<Run>(new Run(std::move(impl)));
  });
}

Status Run::train(std::initializer_list<TrainObserver *> observers) {
  return guarded([&]() -> Status {
    DLC_TRY(impl->checkProcess());
    const PhaseScope inside(*impl->ranks, Phase::Compute);
    DLC_TRY(impl->checkTrainingData());
    Result<PathClaim> claim = impl->claimCheckpoint();
    const Status logged = guarded([&]() -> Status {
      if (!claim.ok())
        return {};
      DLC_TRY(impl->openLog(impl->trainer->reportColumns()));
      return impl->openEvents();
    });
    DLC_TRY(agreeAloud(*impl->ranks, claim.ok() ? logged : claim.status(), {}, impl->options.log));
    std::vector<TrainObserver *> heard(observers);
    if (impl->reports)
      heard.push_back(impl->reports.get());
    if (impl->events)
      heard.push_back(impl->events.get());
    Observers all(std::move(heard), *impl->ranks);
    Status trained = impl->trainer->run(all, &impl->stopAsked);
    impl->stopAsked = false;
    DLC_TRY(std::move(trained).in(impl->options.module));
    if (const std::string note = impl->trainer->endNote(); !note.empty())
      Speaker(impl->options.log, impl->ranks->rank() == 0).note(note);
    return impl->trainer->checkpointStatus();
  });
}

Result<RateSearch> Run::findRate(const RateSearchOptions &options) {
  return guarded([&]() -> Result<RateSearch> {
    DLC_TRY(impl->checkProcess());
    const PhaseScope inside(*impl->ranks, Phase::Compute);
    DLC_TRY(impl->checkTrainingData());
    Result<RateSearch> found = impl->findRate(options);
    return found.ok() ? std::move(found)
                      : Result<RateSearch>(found.takeStatus().in(impl->options.module));
  });
}

Result<const StepReport &> Run::step(std::span<const Array> arrays) {
  return guarded([&]() -> Result<const StepReport &> {
    DLC_TRY(impl->checkProcess());
    const PhaseScope inside(*impl->ranks, Phase::Compute);
    DLC_TRY(impl->needTrainer());
    const EntryInfo &entry = impl->trainer->entry();
    const bool none = arrays.empty() && !entry.inputs.empty() && impl->ranks->ranks() > 1;
    const Status bound = none ? Status() : impl->bind(arrays);
    DLC_TRY_ASSIGN(having, countBatches(*impl->ranks, bound, !none));
    return impl->trainer->step(!none, having);
  });
}

Result<EvaluateReport> Run::evaluate(std::shared_ptr<const Dataset> data,
                                     const EvaluateOptions &options) {
  return guarded([&]() -> Result<EvaluateReport> {
    DLC_TRY(impl->checkProcess());
    const PhaseScope inside(*impl->ranks, Phase::Compute);
    std::unique_ptr<Evaluator> own;
    if (data) {
      DLC_TRY_ASSIGN(created, impl->evaluatorOn(std::move(data)));
      own = std::move(created);
    }
    DLC_TRY_ASSIGN(evaluator, own ? Result<Evaluator *>(own.get()) : impl->needEvaluator());
    DLC_TRY(averageStatistics(*impl->ranks, *impl->begin.state));
    const uint64_t batches = std::min(evaluator->batches(), options.steps.value_or(UINT64_MAX));
    DLC_TRY_ASSIGN(report, evaluator->run(batches, [&](uint64_t done) {
      if (options.progress)
        options.progress(done, batches);
    }));
    if (impl->trainer && !impl->hasTrainingData())
      impl->trainer->observePlateaus(report.metrics);
    return report;
  });
}

Result<std::vector<Tensor>> Run::predict(std::span<const Array> inputs, std::string_view entry) {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    DLC_TRY(impl->checkProcess());
    DLC_TRY_ASSIGN(predictor, impl->needPredictor(entry));
    return predictor->run(inputs);
  });
}

Status Run::predict(std::span<const Array> inputs, std::span<const OutputArray> outputs,
                    std::string_view entry) {
  return guarded([&]() -> Status {
    DLC_TRY(impl->checkProcess());
    DLC_TRY_ASSIGN(predictor, impl->needPredictor(entry));
    return predictor->run(inputs, outputs);
  });
}

Result<std::vector<Tensor>> Run::predict(std::shared_ptr<const Dataset> data,
                                         const PredictOptions &options) {
  return guarded([&]() -> Result<std::vector<Tensor>> {
    DLC_TRY(impl->checkProcess());
    DLC_TRY_ASSIGN(predictor, impl->predictorOn(std::move(data), options.entry));
    return predictor->run(options.steps.value_or(UINT64_MAX));
  });
}

Status Run::predict(std::shared_ptr<const Dataset> data,
                    const std::function<Status(const PredictedBatch &batch)> &hear,
                    const PredictOptions &options) {
  return guarded([&]() -> Status {
    DLC_TRY(impl->checkProcess());
    DLC_TRY_ASSIGN(predictor, impl->predictorOn(std::move(data), options.entry));
    return predictor->run(options.steps.value_or(UINT64_MAX), hear);
  });
}

Status Run::save(const std::string &path) {
  return guarded([&]() -> Status {
    DLC_TRY(impl->checkProcess());
    const PhaseScope inside(*impl->ranks, Phase::Compute);
    DLC_TRY(impl->needTrainer());
    const bool first = impl->ranks->rank() == 0;
    Status checked =
        first ? earlierCheckpoint(path, inputsOf(impl->options)).takeStatus() : Status();
    DLC_TRY(agreeAloud(*impl->ranks, checked, {}, impl->options.log));
    return agreeAloud(*impl->ranks, impl->trainer->save(path), {}, impl->options.log);
  });
}

Status Run::load(const std::string &path) {
  return guarded([&]() -> Status {
    DLC_TRY(impl->checkProcess());
    const PhaseScope inside(*impl->ranks, Phase::Compute);
    State &state = *impl->begin.state;
    Status loaded;
    if (impl->ranks->rank() == 0) {
      const PhaseScope loading(*impl->ranks, Phase::Load);
      loaded = loadVariables(state, path, LoadMode::Weights).takeStatus();
    }
    DLC_TRY(agreeAloud(*impl->ranks, loaded, {}, impl->options.log));
    Metadata none;
    return broadcastRun(*impl->ranks, none, state);
  });
}

Status Run::set(const std::string &setting, double value) {
  return guarded([&]() -> Status {
    DLC_TRY(impl->needTrainer());
    return impl->trainer->set(setting, value);
  });
}

uint64_t Run::weightsBytes() const { return runtime::weightsBytes(impl->module().plan()); }

Status Run::readWeights(std::span<std::byte> weights, Place place) const {
  return guarded([&] { return runtime::readWeights(*impl->begin.state, weights, place); });
}

Status Run::writeWeights(std::span<const std::byte> weights, Place place) {
  return guarded([&] { return runtime::writeWeights(*impl->begin.state, weights, place); });
}

void Run::setStream(void *stream) { impl->begin.state->setStream(stream); }

Status Run::averageWeights(Ranks &ranks, double weight) {
  return guarded(
      [&] { return runtime::averageWeights(*ranks.transport(), *impl->begin.state, weight); });
}

void Run::stop() { impl->stopAsked = true; }

Status Run::checkpointStatus() const {
  return guarded([&] { return impl->trainer ? impl->trainer->checkpointStatus() : Status(); });
}

const TrainingProgress &Run::progress() const {
  return impl->trainer ? impl->trainer->progress() : impl->begin.progress;
}

uint64_t Run::epochs() const {
  return impl->trainer ? impl->trainer->epochs()
                       : epochsOf(impl->module().plan(), impl->options.epochs);
}

void Run::setEpochs(uint64_t epochs) {
  impl->options.epochs = epochs;
  if (impl->trainer)
    impl->trainer->setEpochs(epochs);
}

const std::optional<StepReport> &Run::lastStep() const {
  static const std::optional<StepReport> none;
  return impl->trainer ? impl->trainer->lastStep() : none;
}

std::optional<uint64_t> Run::lastSaved() const {
  return impl->trainer ? impl->trainer->lastSaved() : std::nullopt;
}

const std::shared_ptr<const Module> &Run::module() const { return impl->begin.state->module(); }
const std::shared_ptr<State> &Run::state() const { return impl->begin.state; }

} // namespace dlc::runtime
