// The loop over epochs, batches and the step table.
#include "runtime/Training/Trainer.h"
#include "runtime/Core/FileWriter.h"
#include "runtime/Core/Initialise.h"
#include "runtime/Core/Support.h"
#include "runtime/Data/FirstSamples.h"
#include "runtime/Device/Device.h"
#include "runtime/Exec/Entries.h"
#include "runtime/Training/BatchMemory.h"
#include "runtime/Training/Norms.h"
#include "runtime/Training/Ranks.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace dlc::runtime {

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t epochsOf(const Plan &plan, const std::optional<uint64_t> &wanted) {
  for (const SettingInfo &setting : plan.settings)
    if (!wanted && setting.name == "epochs" && setting.value >= 1 && setting.value < 1e9)
      return static_cast<uint64_t>(setting.value);
  return wanted.value_or(1);
}

Result<std::unique_ptr<Trainer>>
Trainer::create(std::shared_ptr<State> state, std::shared_ptr<const Dataset> train,
                std::shared_ptr<const Dataset> test, const RunOptions &options,
                const Augmentation &augmentation, const TrainingProgress &start) {
  std::unique_ptr<Trainer> trainer(new Trainer(std::move(state), options, augmentation));
  const Plan &plan = trainer->state->module()->plan();
  trainer->position = start;
  trainer->countsRanks = trainer->ranks().ranks() > 1;
  trainer->having = trainer->ranks().ranks();
  trainer->epochTarget = epochsOf(plan, options.epochs);
  DLC_TRY(trainer->prepareSteps());
  DLC_TRY(trainer->applyOverrides());
  if (options.checkFinite)
    trainer->finite = std::make_unique<FiniteWatch>();
  if (options.share < 1)
    trainer->throttle.emplace(
        options.share, [] { return secondsSince({}); },
        [](double seconds) {
          std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        });
  if (options.fastDevRun) {
    // Up to an update of each step.
    const uint64_t most = std::ranges::max_element(trainer->steps, {}, &Step::every)->every;
    trainer->options.steps = most - trainer->position.step % most;
    trainer->options.checkpoint.clear();
  }
  if (train && options.overfitBatches != 0)
    test = train = firstSamples(train, trainer->samplesOf(options.overfitBatches, *train));
  DLC_TRY(trainer->openData(std::move(train)));
  if (test && plan.findEntry(DLC_ENTRY_EVALUATE)) {
    DLC_TRY_ASSIGN(evaluator, Evaluator::create(trainer->state, std::move(test), options.load,
                                                augmentation.test));
    trainer->evaluator = std::move(evaluator);
    trainer->evaluator->setTimeline(options.timeline);
  }
  DLC_TRY(trainer->checkPlateaus());
  DLC_TRY(trainer->watchMetrics());
  if (!trainer->options.checkpoint.empty() && trainer->ranks().rank() == 0)
    DLC_TRY(checkWritable(options.checkpoint));
  return trainer;
}

/// What a batch has of a text.
static uint64_t tokensOf(const EntryInfo &entry) {
  for (const ValueInfo &input : entry.inputs)
    if (input.type.dtype == DLC_I32)
      return input.type.elementCount();
  return 0;
}

/// Those that so many batches of each rank begin with.
uint64_t Trainer::samplesOf(uint64_t batches, const Dataset &dataset) const {
  const uint64_t each = dataset.isSequence() ? tokensOf(entry()) : entry().batch;
  const uint64_t together = std::max<uint64_t>(1, each * ranks().ranks());
  return std::min(batches, UINT64_MAX / together) * together;
}

/// Where training data come from: a dataset, the program's batches, or each call of step().
Status Trainer::openData(std::shared_ptr<const Dataset> train) {
  if (!train) {
    if (options.batches.fill)
      DLC_TRY(allocateFilled());
    return checkEpochLength();
  }
  const Shard shard{.rank = ranks().rank(), .ranks = ranks().ranks(), .even = true};
  DLC_TRY_ASSIGN(created, BatchLoader::create(entry(), train, shard, options.load,
                                              augmentation.train, batchMemoryOf(state->device())));
  loader = std::move(created);
  batchTokens = train->isSequence() ? tokensOf(entry()) : 0;
  if (epochBatches() == 0)
    return invalid(train->name(), ": ", train->size(), " samples do not fill one batch of ",
                   entry().batch,
                   shard.ranks == 1 ? "" : concat(" for each of ", shard.ranks, " ranks"));
  if (position.position > epochBatches())
    return invalid(train->name(), ": an epoch has ", epochBatches(), " batches",
                   options.limit != 0            ? " by `limit`"
                   : options.overfitBatches != 0 ? " by `overfitBatches`"
                                                 : "",
                   ", the checkpoint was taken after ", position.position);
  return {};
}

Status Trainer::allocateFilled() {
  filled.clear();
  own.inputs.clear();
  for (const ValueInfo &input : entry().inputs) {
    const uint64_t bytes = input.type.logicalBytes();
    HostMemory block = HostMemory::allocate(bytes);
    if (!block && bytes != 0)
      return failure(StatusCode::OutOfMemory, "no memory for ", bytes, " bytes of input '",
                     input.name, "'");
    own.inputs.emplace_back(block.data(), bytes);
    filled.push_back(std::move(block));
  }
  own.valid = static_cast<int32_t>(entry().batch);
  return {};
}

/// What is taken of so many.
uint64_t Trainer::limited(uint64_t batches) const {
  if (options.fastDevRun)
    return std::min<uint64_t>(batches, 1);
  if (options.limit == 0)
    return batches;
  const double part = std::ceil(static_cast<double>(batches) * options.limit);
  const double most = options.limit < 1 ? part : options.limit;
  return most < static_cast<double>(batches) ? static_cast<uint64_t>(most) : batches;
}

/// Batches of an epoch; 0: not known.
uint64_t Trainer::epochBatches() const {
  const uint64_t all = loader ? loader->batches(/*keepPartial=*/false) : options.batches.perEpoch;
  return options.fastDevRun ? all : limited(all);
}

/// Of the program's own batches.
Status Trainer::checkEpochLength() const {
  const uint64_t batches = epochBatches();
  if (batches != 0 && position.position > batches)
    return invalid("`batches.perEpoch` is ", batches, ", the checkpoint was taken after ",
                   position.position, " batches of an epoch");
  const bool counts = std::ranges::any_of(state->module()->plan().schedule,
                                          [](const SchedulePart &part) { return part.inEpochs; });
  if (batches == 0 && counts)
    return invalid(state->module()->path(), ": the schedule counts epochs: `batches.perEpoch` says "
                                            "how many batches one has");
  if (batches == 0 && options.batches.fill)
    return invalid("`batches.fill` is given without `batches.perEpoch`");
  return {};
}

std::vector<std::string> Trainer::notes() const {
  std::vector<std::string> all;
  if (loader)
    all = loader->notes(/*keepPartial=*/false);
  if (!evaluator)
    return all;
  for (const std::string &note : evaluator->notes())
    if (std::ranges::find(all, note) == all.end())
      all.push_back(note);
  return all;
}

void Trainer::setLog(const Log &log) {
  if (loader)
    loader->setLog(log);
  if (evaluator)
    evaluator->setLog(log);
}

Transport &Trainer::ranks() const { return state->device()->ranks(); }

/// What reports call the losses and metrics of a step: its own name is in front where another one
/// trains, too.
static void appendMetricNames(std::vector<std::string> &names, const EntryInfo &entry,
                              std::string_view step, bool named) {
  for (const MetricInfo &metric : entry.metrics)
    names.push_back(named ? concat(step, ".", metric.name) : std::string(metric.name));
}

/// Scalars that no user sets.
static bool isOurs(std::string_view scalar) {
  return scalar == "step" || scalar == ranksScale || scalar == ranksCount ||
         scalar.starts_with("random.");
}

/// What names of a step's scalars and counters begin with; those of a single one need nothing.
static std::string prefixOf(std::string_view entry) {
  return entry == "train_step" ? "" : concat(entry, ".");
}

Status Trainer::prepareSteps() {
  const Module &module = *state->module();
  const Plan &plan = module.plan();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const dlc_step &step = plan.steps[i];
    DLC_TRY_ASSIGN(context, Context::create(state, plan.entries[step.entry].name));
    context->setTimeline(options.timeline);
    const EntryInfo &entry = context->entry();
    DLC_TRY(scaleByRanks(*context));
    const std::span schedule(plan.schedule);
    const dlc_step &update = plan.steps[plan.updateOf(i)];
    const std::string_view name = plan.entries[update.entry].name;
    steps.push_back({std::move(context),
                     name,
                     step.every,
                     schedule.subspan(step.schedule.first, step.schedule.count),
                     {},
                     MetricSums(entry),
                     MetricSums(entry),
                     {},
                     1,
                     flopsOf(plan, entry),
                     LossScale(plan, name, prefixOf(name), update.every)});
  }
  if (steps.empty())
    return invalid(module.path(), ": the module has no step that trains");
  updates = plan.findScalar("step");
  for (Step &step : steps)
    appendMetricNames(step.names, step.context->entry(), step.name, severalTrain());
  findRates();
  return {};
}

Status Trainer::applyOverrides() {
  const auto overrides = std::move(options.overrides);
  options.overrides.clear();
  for (const auto &[name, value] : overrides)
    DLC_TRY(set(name, value));
  return {};
}

Status Trainer::set(const std::string &scalar, double value) {
  const Module &module = *state->module();
  if (isOurs(scalar) || !module.plan().findScalar(scalar)) {
    std::string known;
    for (const ScalarInfo &each : module.plan().scalars)
      if (!isOurs(each.name))
        addItem(known, each.name);
    return invalid(module.path(), ": no setting '", scalar, "' to override; there are: ", known);
  }
  for (Step &step : steps)
    DLC_TRY(step.context->setScalar(scalar, value));
  options.overrides[scalar] = value;
  findRates();
  return {};
}

/// Of the next update to be started. Another number of ranks before a resumption took other
/// numbers of batches for an epoch.
ScheduleTime Trainer::scheduleTime(const Step &step) const {
  const uint64_t batches = epochBatches(), started = inFlight;
  return {(position.step + started) / step.every, static_cast<double>(batches) / step.every,
          (position.epoch * batches + position.position + started) / step.every};
}

/// Writes the scheduled scalars for the next update to be started.
Status Trainer::applySchedule(Step &step) {
  const bool overRanks = ranks().ranks() > 1 && ratesFollowBatch(state->module()->plan());
  if (heldFactor)
    return applyFactor(step, *heldFactor * (overRanks ? ranks().ranks() : 1));
  if (step.schedule.empty() && !overRanks)
    return {};
  const ScheduleTime time = scheduleTime(step);
  double factor = step.plateau.factor() * scheduleFactor(step.schedule, time);
  if (overRanks)
    factor *= ranksFactor(step.schedule, ranks().ranks(), time);
  return applyFactor(step, factor);
}

Status Trainer::applyFactor(Step &step, double factor) {
  step.factor = factor;
  for (const auto &[scalar, base] : scheduled)
    DLC_TRY(step.context->setScalar(*scalar, base * factor));
  return {};
}

void Trainer::findRates() {
  scheduled.clear();
  rates.clear();
  for (const ScalarInfo &scalar : state->module()->plan().scalars) {
    if (!scalar.scheduled)
      continue;
    const auto given = options.overrides.find(std::string(scalar.name));
    const double base = given == options.overrides.end() ? scalar.value : given->second;
    scheduled.push_back({&scalar, base});
    for (const Step &step : steps) {
      if (scalar.name.starts_with(concat(prefixOf(step.context->entry().name), "optimizer")))
        rates.push_back({scalar.name, base, &step});
    }
  }
}

Status Trainer::canHoldRate() const {
  if (!rates.empty() && rates.front().base > 0)
    return {};
  return invalid("no setting is a learning rate above 0");
}

void Trainer::holdRate(double rate) {
  evaluator.reset();
  heldFactor = rate / rates.front().base;
}

std::optional<double> Trainer::lastLoss() const {
  const Step &step = *std::ranges::min_element(steps, {}, &Step::every);
  const std::vector<MetricInfo> &metrics = step.context->entry().metrics;
  for (size_t i = 0; i < metrics.size() && step.batchSums.runs() > 0; ++i)
    if (metrics[i].kind == DLC_METRIC_LOSS)
      return step.batchSums.value(i).number;
  return {};
}

void Trainer::writeRates(std::vector<std::pair<std::string_view, double>> &all) const {
  all.resize(rates.size());
  for (size_t i = 0; i < rates.size(); ++i)
    all[i] = {rates[i].name, rates[i].base * rates[i].step->factor};
}

/// A plateau waits for a metric that evaluations yield.
Status Trainer::checkPlateaus() const {
  const Module &module = *state->module();
  const EntryInfo *evaluate = module.plan().findEntry(DLC_ENTRY_EVALUATE);
  for (const SchedulePart &part : module.plan().schedule) {
    if (part.kind != DLC_SCHEDULE_PLATEAU)
      continue;
    auto isMeant = [&](const MetricInfo &metric) { return metric.name == part.metric; };
    const auto all = evaluate ? std::span(evaluate->metrics) : std::span<const MetricInfo>();
    const auto found = std::find_if(all.begin(), all.end(), isMeant);
    if (found == all.end())
      return invalid(module.path(), ": the schedule waits for '", part.metric,
                     "', which no evaluation yields");
    if (found->finish == DLC_FINISH_TABLE)
      return invalid(module.path(), ": the schedule waits for '", part.metric,
                     "', which is a table, not a number");
    const bool stepsBySelf = !loader && !options.batches.fill;
    if (!evaluator && !stepsBySelf)
      return invalid(module.path(), ": the schedule waits for '", part.metric,
                     "' of an evaluation, and there is no test data");
  }
  return {};
}

Result<WatchedMetric> Trainer::watch(std::string_view field, const std::string &metric) const {
  DLC_TRY_ASSIGN(found, watchedMetric(*state->module(), metric));
  if (!evaluator)
    return invalid(field, " waits for '", found.name,
                   "' of an evaluation, and there is no test data");
  return found;
}

Status Trainer::watchMetrics() {
  if (!options.saveBest.empty()) {
    DLC_TRY_ASSIGN(metric, watch("`saveBest`", options.saveBest));
    bestMetric = std::move(metric);
  }
  if (options.patience != 0) {
    const std::string &wanted =
        options.patienceMetric.empty() ? options.saveBest : options.patienceMetric;
    DLC_TRY_ASSIGN(metric, watch("`patience`", wanted));
    patienceMetric = std::move(metric);
  }
  if (options.evaluateEvery != 0 && !evaluator)
    return invalid("`evaluateEvery` is ", options.evaluateEvery, ", and there is no test data");
  return {};
}

void Trainer::observePlateaus(const MetricValues &metrics) {
  for (Step &step : steps) {
    const SchedulePart *part = schedulePart(step.schedule, scheduleTime(step));
    for (const auto &[name, value] : metrics)
      if (part && part->kind == DLC_SCHEDULE_PLATEAU && part->metric == name)
        step.plateau.observe(*part, value.number);
  }
}

static std::string patienceKey(const WatchedMetric &metric) {
  return concat("patience.", metric.str());
}

Status Trainer::restorePatience(std::string_view text) {
  if (!takeNumber(text, worse))
    return damaged("what patience has seen begins with a number, found '", excerpt(text), "'");
  return awaited.restore(text);
}

Status Trainer::restore(const Metadata &metadata) {
  countsRanks |= metadata.contains("ranks");
  for (Step &step : steps)
    if (auto it = metadata.find(concat("plateau.", step.context->entry().name));
        it != metadata.end())
      DLC_TRY(step.plateau.restore(it->second));
  if (metadata.contains("step"))
    stepInFile = position.step;
  if (bestMetric)
    if (const auto it = metadata.find(bestKey(*bestMetric)); it != metadata.end())
      DLC_TRY(best.restore(it->second));
  bestBefore = best;
  if (patienceMetric)
    if (const auto it = metadata.find(patienceKey(*patienceMetric)); it != metadata.end())
      DLC_TRY(restorePatience(it->second));
  if (position.step != 0)
    for (Step &step : steps)
      step.lossScale.restart();
  if (position.position == 0)
    return {};
  epochSamples = position.position * steps[0].context->entry().batch * ranks().ranks();
  for (Step &step : steps) {
    auto it = metadata.find(concat("sums.", step.context->entry().name));
    if (it != metadata.end())
      DLC_TRY(step.epochSums.restore(it->second));
  }
  return {};
}

Status Trainer::checkLoss(const Step &step) const {
  const EntryInfo &entry = step.context->entry();
  for (size_t i = 0; i < entry.metrics.size(); ++i) {
    if (entry.metrics[i].kind != DLC_METRIC_LOSS)
      continue;
    const double value = step.batchSums.value(i).number;
    if (!std::isfinite(value))
      return failure(StatusCode::Failed, "step ", position.step + 1, " of entry '", entry.name,
                     "': the ", entry.metrics[i].name, " is ", numberText(value),
                     position.step == 0
                         ? ", before any update: the data or initial values make it so"
                         : "; a smaller learning rate may help");
  }
  return {};
}

/// What an evaluation's failure says of the run that it is a part of.
Status Trainer::evaluationFailure(Status reason) const {
  const std::string place = position.position == 0
                                ? concat("evaluation after epoch ", position.epoch)
                                : concat("evaluation after step ", position.step);
  if (reason.code() != StatusCode::Failed)
    return std::move(reason).in(place);
  return failure(StatusCode::Failed, place, ": ", reason.message(),
                 "; a smaller learning rate may help");
}

Status Trainer::bindDue(const Batch &batch) {
  if (finite) {
    finite->begin();
    for (size_t i = 0; i < batch.inputs.size(); ++i)
      if (i != entry().validInput && (batch.places.empty() || batch.places[i] == Place::Host))
        finite->lookAt(entry(), i, batch.inputs[i]);
  }
  for (Step &step : steps)
    if (step.isDue(position.step + inFlight + 1))
      DLC_TRY(bindBatch(*step.context, entry(), batch));
  return {};
}

/// Issues the runs that are due for the next batch, which is bound to them.
Status Trainer::startBound() {
  const uint64_t number = position.step + inFlight;
  ranks().setStep(number + 1);
  for (Step &step : steps) {
    if (!step.isDue(number + 1))
      continue;
    Context &context = *step.context;
    const uint64_t runs = number / step.every;
    if (updates)
      DLC_TRY(context.setScalar(*updates, static_cast<double>(runs)));
    // All steps of a batch draw alike, and the ranks draw for a batch of all of them.
    DLC_TRY(context.setRandom(position.seed, number, ranks().rank() * context.entry().batch));
    DLC_TRY(applySchedule(step));
    DLC_TRY(context.start(finite ? finite->watch(state->module()->plan()) : nullptr));
  }
  ++inFlight;
  ++stepsStarted;
  return {};
}

/// Sums of all ranks, whether one of them wants to stop or to save, and how long they rest: in one
/// collective.
Status Trainer::addOverRanks(bool &stop, bool &save, double &rest) {
  if (ranks().ranks() == 1)
    return {};
  const TimedScope scope(options.timeline, SpanKind::SumMetrics);
  // They rest as long as rank 0 does: what one slept too long is no work of the others.
  std::vector<double> all = {double(stop), double(save), ranks().rank() == 0 ? rest : 0};
  for (const Step &step : steps)
    if (step.isDue(position.step + 1))
      for (double number : step.batchSums.numbers())
        all.push_back(number);
  DLC_TRY(ranks().sum(all));
  stop = all[0] != 0;
  save = all[1] != 0;
  rest = all[2];
  std::span numbers = std::span(all).subspan(3);
  for (Step &step : steps) {
    if (!step.isDue(position.step + 1))
      continue;
    const size_t count = step.batchSums.numbers().size();
    step.batchSums.setNumbers(numbers.first(count));
    numbers = numbers.subspan(count);
  }
  return {};
}

/// A loss that overflows leaves out its update where it is scaled, and is not of the epoch's mean.
/// The run goes on then, but not where no update is made any more; a sweep over rates ends.
Status Trainer::reportStep(Step &step) {
  Status finite = checkLoss(step);
  if (!finite.ok() && heldFactor)
    return finite;
  DLC_TRY(step.lossScale.takeLoss(std::move(finite)));
  if (!step.lossScale.isLost())
    step.epochSums.add(step.batchSums);
  return {};
}

bool Trainer::checkpointDue(uint64_t step) const {
  return options.checkpointEvery != 0 && step % options.checkpointEvery == 0;
}

/// Once behind a step, though both `checkRanks` and a checkpoint ask for it.
Status Trainer::compareReplicas() {
  if (comparedStep == position.step)
    return {};
  DLC_TRY_IN(compareParameters(ranks(), *state), "step ", position.step);
  comparedStep = position.step;
  return {};
}

/// Behind the batch that makes `step` of them; not where the epoch ends.
bool Trainer::evaluationDue(uint64_t step) const {
  return options.evaluateEvery != 0 && step % options.evaluateEvery == 0 &&
         position.position != epochBatches();
}

/// Parameters are the same on all ranks, so all of them fail.
Status Trainer::checkParameters() const {
  const std::vector<VariableInfo> &variables = state->module()->plan().variables;
  std::vector<std::byte> elements;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].role != DLC_ROLE_PARAMETER)
      continue;
    elements.resize(variables[i].type.logicalBytes());
    DLC_TRY(state->read(i, elements));
    if (!allFinite(variables[i].type.dtype, elements))
      return failure(StatusCode::Failed, "step ", position.step, ": the parameter '",
                     variables[i].name,
                     "' holds a number that is not finite; a smaller learning rate may help");
  }
  return {};
}

/// Adds to a number that is not finite where the first one was.
Status Trainer::explainFailure(Status failed) {
  if (failed.code() != StatusCode::Failed)
    return failed;
  const std::string first = finite->describe(state->module()->plan(), ranks());
  return first.empty() ? std::move(failed)
                       : failure(StatusCode::Failed, failed.message(), "; ", first);
}

/// Waits for the oldest batch, which is then the last report. `observer` is asked whether the ranks
/// shall stop or save.
Status Trainer::finishOldest(TrainObserver *observer) {
  if (!finite)
    return finishOne(observer);
  Status finished = finishOne(observer);
  if (finished.ok())
    finished = checkParameters();
  if (!finished.ok())
    return explainFailure(std::move(finished));
  if (std::ranges::all_of(steps, [](const Step &step) { return !step.lossScale.isLost(); }))
    finite->settle();
  return {};
}

Status Trainer::finishOne(TrainObserver *observer) {
  const uint64_t number = position.step + 1;
  for (Step &step : steps) {
    if (!step.isDue(number))
      continue;
    Status finished = step.context->finish();
    step.batchSums.clear();
    if (ranks().addsNothing()) {
      DLC_TRY_IN(std::move(finished), "step ", number);
      continue;
    }
    // A loss that is not finite says more than the gradients that it makes so.
    if (finished.code() == StatusCode::Failed && step.batchSums.add(*step.context).ok())
      DLC_TRY(checkLoss(step));
    DLC_TRY_IN(std::move(finished), "step ", number);
    DLC_TRY(step.batchSums.add(*step.context));
  }
  if (observer && ranks().ranks() > 1)
    stopped = wantsStop(*observer) || stopped;
  if (observer && observer->shouldSave())
    saveAsked = true;
  double due = throttle ? throttle->due() : 0;
  DLC_TRY(addOverRanks(stopped, saveAsked, due));
  for (Step &step : steps)
    if (step.isDue(number))
      DLC_TRY(reportStep(step));
  --inFlight;
  position.step = number;
  ++position.position;
  epochSamples += entry().batch * having;
  const double seconds = secondsSince(lastFinish);
  epochSeconds += seconds;
  DLC_TRY(writeReport(seconds));
  rest(due, observer);
  if (inFlight != 0)
    lastFinish = Clock::now();
  return {};
}

/// As long as nobody wants the run to end.
void Trainer::rest(double seconds, TrainObserver *observer) {
  rested = 0;
  if (!throttle)
    return;
  const PhaseScope resting(ranks(), Phase::Rest);
  const Clock::time_point start = Clock::now();
  throttle->rest(seconds, [&] {
    return stopped || (observer ? wantsStop(*observer) : stopAsked && *stopAsked);
  });
  rested = secondsSince(start);
}

bool Trainer::wantsStop(TrainObserver &observer) const {
  return (stopAsked && *stopAsked) || observer.shouldStop() || isOverTime();
}

bool Trainer::isOverTime() const {
  return options.timeLimit != 0 && secondsSince(begun) >= options.timeLimit;
}

/// Waits for the oldest batch and reports it.
Status Trainer::finishBatch(TrainObserver &observer) {
  DLC_TRY(finishOldest(&observer));
  observer.onStep(*lastReport);
  if (options.checkRanks != 0 && position.step % options.checkRanks == 0)
    DLC_TRY(compareReplicas());
  DLC_TRY(hearCheckpoint(checkpoints.poll(), observer));
  if (evaluationDue(position.step))
    return evaluateWithinEpoch(observer);
  return checkpointDue(position.step) ? beginCheckpoint(observer) : Status();
}

/// What is carried from batch to batch on this rank, by the number of its variable.
using StateValues = std::vector<std::pair<size_t, std::vector<std::byte>>>;

static Result<StateValues> readStates(const State &state) {
  StateValues values;
  for (const Carried &carried : carriedBy(state))
    if (!carried.isResidual) {
      values.emplace_back(carried.index, carried.type.logicalBytes());
      DLC_TRY(state.read(carried.index, values.back().second));
    }
  return values;
}

static Status writeStates(State &state, const StateValues &values) {
  for (const auto &[index, value] : values)
    DLC_TRY(state.write(index, value));
  return {};
}

/// Losses and metrics on the test data, heard by what waits for them.
Result<EvaluateReport> Trainer::evaluateTests() {
  DLC_TRY(averageStatistics(ranks(), *state));
  Result<EvaluateReport> evaluated = evaluator->run(limited(evaluator->batches()));
  if (!evaluated.ok())
    return evaluationFailure(evaluated.takeStatus());
  if (patienceMetric) {
    const double value = patienceMetric->in(evaluated->metrics);
    worse = awaited.observe(*patienceMetric, value, options.minDelta) ? 0 : worse + 1;
    lostPatience = options.patience != 0 && worse >= options.patience;
    stopped |= lostPatience;
  }
  return evaluated;
}

/// As behind an epoch, states begin at 0, and those of the training go on as if nothing had been.
Result<EvaluateReport> Trainer::evaluateBeside() {
  DLC_TRY_ASSIGN(kept, readStates(*state));
  DLC_TRY(state->reset(DLC_ROLE_STATE));
  DLC_TRY_ASSIGN(test, evaluateTests());
  DLC_TRY(writeStates(*state, kept));
  return test;
}

Status Trainer::evaluateWithinEpoch(TrainObserver &observer) {
  DLC_TRY_ASSIGN(test, evaluateBeside());
  DLC_TRY(beginCheckpoint(observer, &test));
  observer.onEvaluation({position, std::move(test)});
  return {};
}

/// Where no batch is ahead of what is saved.
Status Trainer::saveOnDemand(TrainObserver &observer) {
  while (inFlight != 0)
    DLC_TRY(finishBatch(observer));
  saveAsked = false;
  return beginCheckpoint(observer);
}

/// With several steps that update their losses need the step's name.
bool Trainer::severalTrain() const { return steps.front().name != steps.back().name; }

/// Numbers among them.
static void appendColumns(std::vector<std::string> &columns, const EntryInfo &entry,
                          const std::string &prefix) {
  for (const MetricInfo &metric : entry.metrics)
    if (metric.finish != DLC_FINISH_TABLE)
      columns.push_back(prefix + std::string(metric.name));
}

/// Gradients have theirs where any entry gives one.
void Trainer::appendNormColumns(std::vector<std::string> &columns) const {
  auto append = [&](std::string_view of, auto has) {
    const size_t begin = columns.size();
    const std::vector<VariableInfo> &variables = state->module()->plan().variables;
    for (size_t i = 0; i < variables.size(); ++i)
      if (variables[i].role == DLC_ROLE_PARAMETER && has(i))
        columns.push_back(concat(of, "s.", variables[i].name));
    if (columns.size() > begin)
      columns.insert(columns.begin() + static_cast<ptrdiff_t>(begin), std::string(of));
  };
  append("weight_norm", [](size_t) { return true; });
  append("gradient_norm", [this](size_t variable) {
    return std::ranges::any_of(steps, [variable](const Step &step) {
      return std::ranges::any_of(step.context->entry().outputs, [variable](const ValueInfo &each) {
        return each.kind == DLC_VALUE_GRADIENT && each.of == variable;
      });
    });
  });
}

std::vector<std::string> Trainer::reportColumns() const {
  std::vector<std::string> columns = {"report", "step", "epoch"};
  for (const Step &step : steps)
    appendColumns(columns, step.context->entry(),
                  severalTrain() ? concat(step.name, ".") : std::string());
  columns.insert(columns.end(), {"seconds", "samples_per_second"});
  if (batchTokens != 0)
    columns.emplace_back("tokens_per_second");
  if (std::ranges::any_of(steps, [](const Step &step) { return step.flops != 0; }))
    columns.emplace_back("gflops");
  if (state->device()->peaks().flopsPerSecond > 0)
    columns.emplace_back("mfu");
  for (const Rate &rate : rates)
    columns.push_back(concat("learning_rates.", rate.name));
  for (const Step &step : steps)
    if (step.isUpdate())
      step.lossScale.appendNames(columns);
  if (options.norms != 0)
    appendNormColumns(columns);
  if (evaluator)
    appendColumns(columns, *state->module()->plan().findEntry(DLC_ENTRY_EVALUATE), "test_");
  if (options.load.maxBadRecords != 0)
    columns.insert(columns.end(), {"bad_records", "test_bad_records"});
  return columns;
}

/// Writes those of the steps that have run over what an earlier report has, mostly of the same
/// names.
void Trainer::writeMetrics(MetricValues &all, Sums sums) const {
  size_t count = 0;
  for (const Step &step : steps)
    for (size_t i = 0; i < step.names.size() && (step.*sums).runs() > 0; ++i, ++count) {
      if (count == all.size())
        all.emplace_back();
      auto &[name, value] = all[count];
      if (name != step.names[i])
        name = step.names[i];
      value = (step.*sums).value(i);
    }
  all.resize(count);
}

/// Of a step in which nothing is done.
StepReport Trainer::emptyReport() const {
  StepReport report{position, epochBatches(), epochTarget, 0, {}, {}, 0};
  writeMetrics(report.epoch, &Step::epochSums);
  return report;
}

/// Of the batch that was finished last, over the last report: so that steps allocate nothing.
Status Trainer::writeReport(double seconds) {
  if (!lastReport)
    lastReport = emptyReport();
  StepReport &report = *lastReport;
  report.progress = position;
  report.stepsInEpoch = epochBatches();
  report.epochs = epochTarget;
  report.samples = entry().batch * having;
  writeMetrics(report.batch, &Step::batchSums);
  writeMetrics(report.epoch, &Step::epochSums);
  report.seconds = seconds;
  writeRates(report.rates);
  report.tokens = batchTokens * having;
  report.flops = 0;
  for (const Step &step : steps)
    if (step.isDue(position.step))
      report.flops += step.flops * having;
  report.peakFlops = state->device()->peaks().flopsPerSecond * ranks().ranks();
  report.rested = rested;
  report.norms.clear();
  if (!normsDue(position.step))
    return {};
  std::vector<const Context *> ran;
  for (const Step &step : steps)
    if (step.isDue(position.step))
      ran.push_back(step.context.get());
  DLC_TRY_ASSIGN(norms, normsOf(*state, ran));
  report.norms = std::move(norms);
  return {};
}

/// Those of accumulations whose update is still to come.
Status Trainer::averageOpenSums() {
  const Plan &plan = state->module()->plan();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const size_t update = plan.updateOf(i);
    if (update != i && position.step % plan.steps[update].every != 0)
      DLC_TRY(averageGradientSums(ranks(), *state, plan.entries[plan.steps[i].entry]));
  }
  return {};
}

/// Makes equal on all ranks what a checkpoint has once, and gives rank 0 what it has of each.
Result<CarriedStates> Trainer::prepareCheckpoint() {
  DLC_TRY(averageStatistics(ranks(), *state));
  DLC_TRY(averageOpenSums());
  return gatherStates(ranks(), *state);
}

Metadata Trainer::checkpointMetadata() const {
  Metadata metadata = toMetadata(position);
  metadata["graph_hash"] = state->module()->graphHash();
  if (loader)
    metadata["augment"] = augmentation.text;
  if (countsRanks)
    metadata["ranks"] = std::to_string(ranks().ranks());
  for (const Step &step : steps)
    if (!step.schedule.empty() && step.schedule.back().kind == DLC_SCHEDULE_PLATEAU)
      metadata[concat("plateau.", step.context->entry().name)] = step.plateau.save();
  if (bestMetric)
    metadata[bestKey(*bestMetric)] = best.save();
  if (patienceMetric)
    metadata[patienceKey(*patienceMetric)] = concat(worse, " ", awaited.save());
  if (position.position != 0)
    for (const Step &step : steps)
      metadata[concat("sums.", step.context->entry().name)] = step.epochSums.save();
  return metadata;
}

Status Trainer::save(const std::string &path) {
  DLC_TRY_ASSIGN(carried, prepareCheckpoint());
  if (ranks().rank() != 0)
    return {};
  const PhaseScope writing(ranks(), Phase::Write);
  const TimedScope scope(options.timeline, SpanKind::Checkpoint);
  checkpoints.wait(); // It may be the same file.
  DLC_TRY(saveVariablesOf(*state, carried, path, checkpointMetadata()));
  if (!options.checkpoint.empty() && isSameFile(path, options.checkpoint))
    savedStep = stepInFile = position.step;
  return {};
}

/// Of the next checkpoint, behind an evaluation if there was one.
CheckpointFiles Trainer::checkpointFiles(const EvaluateReport *evaluated) {
  bestBefore = best;
  const bool isBest =
      evaluated && bestMetric && best.observe(*bestMetric, bestMetric->in(evaluated->metrics));
  return {.path = options.checkpoint,
          .before = stepInFile,
          .keep = options.keep,
          .savesBest = bestMetric.has_value(),
          .isBest = isBest};
}

/// Rank 0 writes. Only equal replicas are worth it.
Status Trainer::beginCheckpoint(TrainObserver &observer, const EvaluateReport *evaluated) {
  if (options.checkpoint.empty())
    return {};
  DLC_TRY(compareReplicas());
  DLC_TRY_ASSIGN(carried, prepareCheckpoint());
  if (ranks().rank() != 0)
    return {};
  const PhaseScope writing(ranks(), Phase::Write);
  checkpoints.wait();
  DLC_TRY(hearCheckpoint(checkpoints.poll(), observer));
  const CheckpointFiles files = checkpointFiles(evaluated);
  return checkpoints.begin(*state, carried, files, checkpointMetadata(), position.step,
                           options.timeline);
}

/// That a file cannot be written is no failure: a disk or memory that is full now may have room
/// later.
Status Trainer::hearCheckpoint(std::optional<CheckpointWriter::Outcome> outcome,
                               TrainObserver &observer) {
  if (!outcome)
    return {};
  ++saves;
  if (outcome->bestIsLost)
    best = bestBefore;
  // Numbers that are not finite stay so.
  if (!outcome->notFinite.empty())
    return failure(StatusCode::Failed, "step ", outcome->step, ": ", outcome->notFinite,
                   "; a smaller learning rate may help");
  Status &status = outcome->status;
  if (status.ok()) {
    savedStep = stepInFile = outcome->step;
    observer.onCheckpoint(options.checkpoint);
    return {};
  }
  if (status.code() != StatusCode::Io && status.code() != StatusCode::OutOfMemory)
    return std::move(status).in(concat("step ", outcome->step));
  ++failedSaves;
  observer.onCheckpointFailed(status);
  return {};
}

std::string Trainer::endNote() const {
  if (!stopped || position.epoch >= epochTarget)
    return {};
  if (lostPatience)
    return concat("the last ", worse == 1 ? std::string() : concat(worse, " "), "evaluation",
                  worse == 1 ? "" : "s", " had no better ", patienceMetric->name, " than ",
                  decimalText(*awaited.value()),
                  options.minDelta == 0 ? std::string()
                                        : concat(" by more than ", decimalText(options.minDelta)));
  return isOverTime() ? concat("the ", decimalText(options.timeLimit), " s of `timeLimit` are over")
                      : std::string();
}

Status Trainer::checkpointStatus() const {
  if (failedSaves == 0)
    return {};
  return failure(StatusCode::Io, options.checkpoint, ": ", failedSaves, " of ", saves,
                 " checkpoints could not be written; ",
                 savedStep ? concat("the file holds step ", *savedStep)
                           : std::string("the file is as it was before"));
}

/// Null at the end of the epoch.
Result<const Batch *> Trainer::nextBatch() {
  const PhaseScope loading(ranks(), Phase::Load);
  const TimedScope scope(options.timeline, SpanKind::WaitForData);
  return loader ? loader->next() : fillBatch();
}

/// What the program makes.
Result<const Batch *> Trainer::fillBatch() {
  const uint64_t number = position.position + inFlight;
  if (number == epochBatches())
    return static_cast<const Batch *>(nullptr);
  std::vector<OutputArray> arrays;
  for (size_t i = 0; i < filled.size(); ++i)
    if (const ValueInfo &input = entry().inputs[i]; i != entry().validInput)
      arrays.push_back(
          {std::string(input.name), input.type.dtype, input.type.shape, filled[i].data()});
  DLC_TRY_IN(options.batches.fill(position.epoch, number, arrays), "`batches.fill`: batch ", number,
             " of epoch ", position.epoch);
  return &own;
}

/// Before the first batch of an epoch, or of what is left of one.
Status Trainer::beginEpoch() {
  return position.position == 0 ? state->reset(DLC_ROLE_STATE) : Status();
}

/// A rank's share of an accumulated mean would be that of the ranks that had each of its batches,
/// and sums of other devices know nothing of zeros.
Status Trainer::checkAllMayLack() const {
  const Module &module = *state->module();
  for (const Step &step : steps)
    if (step.context->entry().kind == DLC_ENTRY_ACCUMULATE)
      return unsupported(module.path(), ": accumulates gradients of several batches, so each rank "
                                        "needs a batch in every step");
  if (!state->device()->sharesHostMemory())
    return unsupported("device ", state->device()->name(),
                       ": each rank needs a batch in every step");
  return {};
}

Status Trainer::bind(const Batch &batch) {
  DLC_TRY(bindDue(batch));
  for (Step &step : steps)
    if (ranks().ranks() > 1 && step.isDue(position.step + inFlight + 1))
      DLC_TRY(step.context->checkInputs());
  return {};
}

/// Where only some ranks have a batch, means are those over them. So that statistics are, too, they
/// become equal on all ranks.
Result<const StepReport &> Trainer::step(bool has, unsigned some) {
  if (some == 0)
    return emptyStep.emplace(emptyReport());
  if (some == ranks().ranks())
    return stepOnBound();
  DLC_TRY(checkAllMayLack());
  having = some;
  for (Step &step : steps)
    DLC_TRY(scaleByRanks(*step.context, having));
  Result<const StepReport &> report = has ? stepOnBound() : stepOnNothing();
  having = ranks().ranks();
  for (Step &step : steps)
    DLC_TRY(scaleByRanks(*step.context));
  if (report.ok())
    DLC_TRY(averageStatistics(ranks(), *state, has ? 1 : 0, some));
  return report;
}

/// Takes part in what the others do. What this rank carries to its next batch stays.
Result<const StepReport &> Trainer::stepOnNothing() {
  if (filled.empty())
    DLC_TRY(allocateFilled());
  for (HostMemory &block : filled)
    std::fill_n(block.data(), block.size(), std::byte(0));
  DLC_TRY(beginEpoch());
  DLC_TRY_ASSIGN(kept, readStates(*state));
  DLC_TRY(bindDue(own));
  ranks().setAddsNothing(true);
  Result<const StepReport &> report = stepOnBound();
  ranks().setAddsNothing(false);
  DLC_TRY(writeStates(*state, kept));
  return report;
}

Result<const StepReport &> Trainer::stepOnBound() {
  DLC_TRY(beginEpoch());
  if (options.timeline)
    options.timeline->setStep(position.step + 1);
  lastFinish = Clock::now();
  if (throttle)
    throttle->begin();
  Status status = startBound();
  if (status.ok())
    status = finishOldest(nullptr);
  if (!status.ok()) {
    drain();
    return status;
  }
  if (position.position == epochBatches())
    closeEpoch();
  return *lastReport;
}

Status Trainer::runEpoch(TrainObserver &observer) {
  DLC_TRY(beginEpoch());
  const bool anew = options.overfitBatches == 0;
  if (loader)
    DLC_TRY(loader->start({.seed = anew ? std::optional(position.seed) : std::nullopt,
                           .epoch = anew ? static_cast<uint32_t>(position.epoch) : 0,
                           .firstBatch = position.position,
                           .mostBatches = epochBatches(),
                           .keepPartial = false,
                           .timeline = options.timeline}));
  // Where the device works by itself, one batch is in flight while the next is made ready; but what
  // goes into a checkpoint must not be a step ahead.
  const size_t ahead = state->device()->sharesHostMemory() || !loader ? 0 : 1;
  while (stepsLeft() && !stopped) {
    // Several ranks stop together: they have asked each other behind the last batch.
    if (ranks().ranks() == 1 && (stopped = wantsStop(observer)))
      break;
    if (inFlight == 0)
      lastFinish = Clock::now();
    if (options.timeline)
      options.timeline->setStep(position.step + inFlight + 1);
    DLC_TRY_ASSIGN(batch, nextBatch());
    if (!batch)
      break;
    const TimedScope scope(options.timeline, SpanKind::Step);
    DLC_TRY(bindDue(*batch));
    DLC_TRY(startBound());
    const uint64_t step = position.step + inFlight;
    const bool looksAt = finite || throttle || heldFactor || normsDue(step);
    const size_t allowed = checkpointDue(step) || evaluationDue(step) || looksAt ? 0 : ahead;
    while (inFlight > allowed)
      DLC_TRY(finishBatch(observer));
    if (saveAsked)
      DLC_TRY(saveOnDemand(observer));
  }
  while (inFlight != 0)
    DLC_TRY(finishBatch(observer));
  return finishEpoch(observer);
}

void Trainer::closeEpoch() {
  ++position.epoch;
  position.position = 0;
  for (Step &step : steps)
    step.epochSums.clear();
  epochSamples = 0;
  epochSeconds = 0;
}

/// Those of all ranks since the epoch was begun.
Result<std::optional<uint64_t>> Trainer::badRecords() const {
  const std::optional<uint64_t> own = loader ? loader->badRecords() : std::nullopt;
  if (!own || ranks().ranks() == 1)
    return own;
  std::vector<double> all = {static_cast<double>(*own)};
  DLC_TRY(ranks().sum(all));
  return std::optional<uint64_t>(static_cast<uint64_t>(all[0]));
}

/// Closes an epoch that is complete; one that is not (out of steps, told to stop) stays open for a
/// resumption.
Status Trainer::finishEpoch(TrainObserver &observer) {
  EpochReport report{position, epochSamples, {}, epochSeconds, {}, {}};
  writeMetrics(report.train, &Step::epochSums);
  writeRates(report.rates);
  for (Step &step : steps) {
    if (!step.isUpdate())
      continue;
    DLC_TRY(step.lossScale.write(*state, report.lossScales));
    DLC_TRY(step.lossScale.check(*state, position.step));
  }
  DLC_TRY_ASSIGN(bad, badRecords());
  report.badRecords = bad;
  const bool complete = position.position == epochBatches();
  if (complete)
    closeEpoch();
  if (evaluator && complete) {
    DLC_TRY_ASSIGN(test, evaluateTests());
    observePlateaus(test.metrics);
    report.test = std::move(test);
  } else if (evaluator && options.fastDevRun) {
    DLC_TRY_ASSIGN(test, evaluateBeside());
    report.test = std::move(test);
  }
  DLC_TRY(beginCheckpoint(observer, report.test ? &*report.test : nullptr));
  saveAsked = false;
  report.progress = position;
  observer.onEpoch(report);
  return {};
}

/// What a failure has left under way.
void Trainer::drain() {
  constexpr unsigned mostStarted = 2;
  for (Step &step : steps)
    for (unsigned i = 0; i < mostStarted; ++i)
      (void)step.context->finish();
  inFlight = 0;
}

Status Trainer::run(TrainObserver &observer, const std::atomic<bool> *stop) {
  stopAsked = stop;
  stopped = saveAsked = lostPatience = false;
  stepsStarted = 0;
  comparedStep = {};
  begun = Clock::now();
  if (throttle)
    throttle->begin();
  if (!options.checkpoint.empty() && ranks().rank() == 0)
    checkpoints.prepare(*state, ranks().ranks());
  Status status;
  while (status.ok() && position.epoch < epochTarget && stepsLeft() && !stopped) {
    status = runEpoch(observer);
    // Whoever asked for the end while the epoch was closed finds nothing to close once more.
    if (status.ok() && !stopped && ranks().ranks() == 1 && position.epoch < epochTarget)
      stopped = wantsStop(observer);
  }
  drain();
  const PhaseScope writing(ranks(), Phase::Write);
  Status written = hearCheckpoint(checkpoints.finish(), observer);
  // What a checkpoint could not hold comes before what failed in a step behind it.
  return written.ok() ? std::move(status) : std::move(written);
}

} // namespace dlc::runtime
