// The runs of dlc/c.h over dlc::Run. All that is said of them here is what C adds: handles, what
// callbacks may do, and reports that are kept for the questions about them.
#include "dlc/run.h"
#include "runtime/C/Arguments.h"
#include "runtime/C/Ranks.h"
#include "runtime/Core/NearestName.h"
#include "runtime/Exec/Entries.h"

#include <set>

using namespace dlc::runtime;

namespace {

struct RunHandle : HandleObject {
  RunHandle() : HandleObject(HandleKind::Run) {}

  std::unique_ptr<Run> run;
  /// What was reported last: of a step where the run has it, of an epoch in `epoch`; null before.
  /// Rates become numbers by name, as metrics are, when somebody asks for them.
  const StepReport *step = nullptr;
  const MetricValues *train = nullptr;
  MetricValues epoch, test, namedRates, weightNorms, gradientNorms;
  std::vector<std::pair<std::string_view, double>> rates;
  uint64_t stepsInEpoch = 0, samples = 0, badRecords = 0, testBadRecords = 0;
  double seconds = 0;
  std::vector<RatePoint> ratePoints = {};
  /// The arrays of the last step.
  std::vector<Array> batch;
  /// Those that were given out.
  std::set<std::string, std::less<>> names = {};
};

/// Calls body(RunHandle &) as the one that is at work in the run; its Status is reported.
template <typename Body> dlc_status inRun(dlc_run *run, Calls needed, const Body &body) noexcept {
  HandleWork work;
  if (dlc_status refused = work.begin(run, HandleKind::Run, needed))
    return refused;
  return report(guarded([&]() -> Status { return body(static_cast<RunHandle &>(work.object())); }));
}

/// Calls a callback of the program's, whose name with a blank stands before what is said of it.
/// What it throws is a failure too.
template <typename Callback>
Status called(std::string_view name, Occupancy &occupancy, Calls allowed,
              const Callback &callback) {
  Occupancy::Callback here(occupancy, allowed);
  int result = 0;
  try {
    result = callback();
  } catch (...) {
    return failure(StatusCode::Failed, name, "threw an exception");
  }
  return result == 0 ? Status() : failure(StatusCode::Failed, name, "returned ", result);
}

dlc_progress progressOf(const RunHandle &object, const TrainingProgress &at) {
  return {.size = sizeof(dlc_progress),
          .seed = at.seed,
          .step = at.step,
          .epoch = at.epoch,
          .position = at.position,
          .epochs = object.run->epochs(),
          .steps_in_epoch = object.stepsInEpoch,
          .samples = object.samples,
          .seconds = object.seconds,
          .saved_step = object.run->lastSaved().value_or(UINT64_MAX),
          .bad_records = object.badRecords,
          .test_bad_records = object.testBadRecords};
}

void keepNorms(RunHandle &object, const std::vector<ParameterNorm> &norms) {
  object.weightNorms.clear();
  object.gradientNorms.clear();
  for (const ParameterNorm &norm : norms) {
    object.weightNorms.emplace_back(norm.name, MetricValue{.number = norm.weight});
    if (norm.gradient)
      object.gradientNorms.emplace_back(norm.name, MetricValue{.number = *norm.gradient});
  }
}

void keepTest(RunHandle &object, EvaluateReport report) {
  object.test = std::move(report.metrics);
  object.testBadRecords = report.badRecords.value_or(0);
}

void keep(RunHandle &object, const StepReport &report) {
  object.step = &report;
  object.train = &report.epoch;
  object.rates = report.rates;
  if (!report.norms.empty())
    keepNorms(object, report.norms);
  object.stepsInEpoch = report.stepsInEpoch;
  object.samples = report.samples;
  object.seconds = report.seconds;
}

void keep(RunHandle &object, const EpochReport &report) {
  object.epoch = report.train;
  object.train = &object.epoch;
  object.badRecords = report.badRecords.value_or(0);
  if (report.test)
    keepTest(object, *report.test);
  object.rates = report.rates;
  object.samples = report.samples;
  object.seconds = report.seconds;
}

/// Keeps what is reported and hands it on.
class Observer : public TrainObserver {
public:
  Observer(RunHandle &object, dlc_run *run, const dlc_observer &given)
      : object(object), run(run), given(given) {}

  void onStep(const StepReport &report) override {
    keep(object, report);
    call("`on_step` ", given.on_step, Calls::Setting, report.progress);
  }
  void onEpoch(const EpochReport &report) override {
    keep(object, report);
    call("`on_epoch` ", given.on_epoch, Calls::Evaluating, report.progress);
  }
  void onEvaluation(const EvaluationReport &report) override { keepTest(object, report.test); }
  void onCheckpoint(const std::string &) override {
    call("`on_checkpoint` ", given.on_checkpoint, Calls::Reading, object.run->progress());
  }
  void onCheckpointFailed(const Status &reason) override {
    if (given.on_checkpoint_failed)
      call(
          "`on_checkpoint_failed` ",
          [&](auto... heard) {
            return given.on_checkpoint_failed(heard..., withFieldsOfC(reason.message()).c_str());
          },
          Calls::Reading, object.run->progress());
  }
  bool shouldStop() override {
    if (!failed.ok() || !given.should_stop)
      return !failed.ok();
    bool stop = false;
    const dlc_progress progress = progressOf(object, object.run->progress());
    failed = called("`should_stop` ", *object.occupancy, Calls::Reading, [&] {
      stop = given.should_stop(given.user, run, &progress) != 0;
      return 0;
    });
    return stop || !failed.ok();
  }

  /// The first callback's that failed.
  Status takeFailure() { return std::move(failed); }

private:
  void call(std::string_view name, dlc_observe callback, Calls allowed,
            const TrainingProgress &at) {
    if (callback)
      call<dlc_observe>(name, callback, allowed, at);
  }
  template <typename Callback>
  void call(std::string_view name, const Callback &callback, Calls allowed,
            const TrainingProgress &at) {
    if (!failed.ok())
      return;
    const dlc_progress progress = progressOf(object, at);
    failed = called(name, *object.occupancy, allowed,
                    [&] { return callback(given.user, run, &progress); });
  }

  RunHandle &object;
  dlc_run *const run;
  const dlc_observer &given;
  Status failed;
};

Batches batchesOf(const dlc_options &options, std::shared_ptr<Occupancy> occupancy) {
  Batches batches = {.perEpoch = options.batches_per_epoch};
  if (options.batches_fill)
    batches.fill = [fill = options.batches_fill, user = options.user,
                    occupancy = std::move(occupancy)](uint64_t epoch, uint64_t batch,
                                                      std::span<const OutputArray> inputs) {
      std::vector<dlc_output> outputs(inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) {
        describeArray(outputs[i], inputs[i].name, inputs[i].dtype, inputs[i].shape);
        outputs[i].data = inputs[i].data;
      }
      return called("", *occupancy, Calls::Reading,
                    [&] { return fill(user, epoch, batch, outputs.data(), outputs.size()); });
    };
  return batches;
}

std::optional<uint64_t> unlessZero(uint64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

/// Null for no arrays.
Result<std::shared_ptr<const Dataset>> datasetFrom(const dlc_array *arrays, size_t count,
                                                   std::string_view of) {
  if (count == 0)
    return std::shared_ptr<const Dataset>();
  DLC_TRY_ASSIGN(taken, arraysOf<Array>(arrays, count, of));
  return datasetOf(std::move(taken), std::string(of));
}

/// All but the ranks.
Result<RunOptions> optionsOf(const dlc_options &options,
                             const std::shared_ptr<Occupancy> &occupancy) {
  DLC_TRY(present(options.module, "`module`"));
  RunOptions taken = {.module = options.module};
  taken.device.name = textOf(options.device);
  taken.device.threads = options.threads;
  taken.data = textOf(options.data);
  taken.testData = textOf(options.test_data);
  DLC_TRY_ASSIGN(train, datasetFrom(options.train, options.train_count, "`train`"));
  DLC_TRY_ASSIGN(test, datasetFrom(options.test, options.test_count, "`test`"));
  taken.train = std::move(train);
  taken.test = std::move(test);
  taken.batches = batchesOf(options, occupancy);
  taken.augment = textOf(options.augment);
  taken.load.workers = options.load_workers;
  if (options.load_ahead != 0)
    taken.load.ahead = options.load_ahead;
  if (options.seed != 0 || options.seed_given != 0)
    taken.seed = options.seed;
  taken.epochs = unlessZero(options.epochs);
  taken.steps = unlessZero(options.steps);
  if (options.override_count != 0)
    DLC_TRY(present(options.overrides, "`overrides`"));
  for (const dlc_override &override : std::span(options.overrides, options.override_count))
    taken.overrides[textOf(override.name)] = override.value;
  taken.checkpoint = textOf(options.checkpoint);
  taken.checkpointEvery = options.checkpoint_every;
  taken.resume = options.resume != 0;
  taken.overwrite = options.overwrite != 0;
  taken.initFrom = textOf(options.init_from);
  taken.weights = textOf(options.weights);
  taken.checkRanks = options.check_ranks;
  taken.log = logOf(options.log, options.user);
  taken.keep = options.keep;
  taken.saveBest = textOf(options.save_best);
  taken.evaluateEvery = options.evaluate_every;
  taken.patience = options.patience;
  taken.minDelta = options.min_delta;
  taken.patienceMetric = textOf(options.patience_metric);
  taken.timeLimit = options.time_limit;
  taken.logFile = textOf(options.log_file);
  if (options.rename_count != 0)
    DLC_TRY(present(options.rename, "`rename`"));
  for (const char *rule : std::span(options.rename, options.rename_count))
    taken.rename.push_back(textOf(rule));
  taken.limit = options.limit;
  taken.overfitBatches = options.overfit_batches;
  taken.fastDevRun = options.fast_dev_run != 0;
  taken.checkFinite = options.check_finite != 0;
  taken.norms = options.norms;
  if (options.share != 0)
    taken.share = options.share;
  taken.load.maxBadRecords = options.max_bad_records;
  taken.tensorboard = textOf(options.tensorboard);
  taken.histograms = options.histograms;
  return taken;
}

/// A report's metrics, or an error.
Result<const MetricValues *> metricsOf(RunHandle &object, dlc_report report) {
  static const MetricValues none;
  switch (report) {
  case DLC_REPORT_BATCH:
    return object.step ? &object.step->batch : &none;
  case DLC_REPORT_EPOCH:
    return object.train ? object.train : &none;
  case DLC_REPORT_TEST:
    return &object.test;
  case DLC_REPORT_RATES:
    object.namedRates.clear();
    for (const auto &[name, rate] : object.rates)
      object.namedRates.emplace_back(name, MetricValue{.number = rate});
    return &object.namedRates;
  case DLC_REPORT_WEIGHT_NORMS:
    return &object.weightNorms;
  case DLC_REPORT_GRADIENT_NORMS:
    return &object.gradientNorms;
  }
  return invalid("there is no report number ", static_cast<int>(report));
}

Result<const MetricValue *> metricOf(RunHandle &object, dlc_report report, const char *name) {
  DLC_TRY(present(name, "name"));
  DLC_TRY_ASSIGN(metrics, metricsOf(object, report));
  std::string known;
  for (const auto &[own, value] : *metrics) {
    if (own == name)
      return &value;
    addItem(known, own);
  }
  return invalid("the report has no '", name, "'; ",
                 known.empty() ? "it is empty" : concat("there are: ", known));
}

const Plan &planOf(const RunHandle &object) { return object.run->module()->plan(); }

/// Without axes of extent 1.
std::vector<uint64_t> squeezed(std::vector<uint64_t> shape) {
  std::erase(shape, 1u);
  return shape;
}

/// Number of the variable that the array is called as, which must have its dtype and shape.
template <typename Given> Result<size_t> variableLike(const RunHandle &object, const Given &array) {
  const Plan &plan = planOf(object);
  const VariableInfo *found = plan.findVariable(array.name);
  const std::string &path = object.run->module()->path();
  if (!found) {
    std::vector<std::string_view> names;
    for (const VariableInfo &variable : plan.variables)
      names.push_back(variable.name);
    const std::string_view nearest = nearestName(array.name, names);
    return invalid(path, ": no variable '", array.name, "'",
                   nearest.empty() ? std::string() : concat("; there is '", nearest, "'"));
  }
  const TensorType &own = found->type, given = {.dtype = array.dtype, .shape = array.shape};
  if (own.dtype != given.dtype || squeezed(own.shape) != squeezed(given.shape))
    return invalid(path, ": variable '", array.name, "' is ", own.str(), ", the array ",
                   given.str());
  return static_cast<size_t>(found - plan.variables.data());
}

/// Input or output number `index`, of the first entry of `kind` where `name` is null.
template <typename To>
Status describeValue(const RunHandle &object, const char *name, dlc_entry_kind kind,
                     const std::vector<ValueInfo> EntryInfo::*values, size_t index, To *out) {
  DLC_TRY(present(out, "the array to describe in"));
  DLC_TRY_ASSIGN(entry, selectEntry(*object.run->module(), textOf(name), kind));
  const std::vector<ValueInfo> &all = entry->*values;
  if (index >= all.size())
    return invalid("entry '", entry->name, "' has ", all.size(), ", and none of number ", index);
  describeArray(*out, all[index].name, all[index].type.dtype, all[index].type.shape);
  return {};
}

} // namespace

dlc_status dlc_run_open(const dlc_options *options, dlc_run **out_run) {
  if (!out_run)
    return refuse(DLC_INVALID_ARGUMENT, "out_run is NULL");
  *out_run = nullptr;
  const Result<dlc_options> given = guarded([&] { return structOf(options, "dlc_options"); });
  if (!given.ok())
    return report(given.status());
  HandleWork ranks;
  if (given->ranks)
    if (dlc_status refused = ranks.begin(given->ranks, HandleKind::Ranks, Calls::Everything))
      return refused;
  return report(guarded([&]() -> Status {
    auto object = std::make_unique<RunHandle>();
    if (given->ranks)
      object->occupancy = ranks.object().occupancy;
    DLC_TRY_ASSIGN(taken, optionsOf(*given, object->occupancy));
    if (given->ranks)
      taken.ranks = ranksOf(ranks).ranks;
    DLC_TRY_ASSIGN(run, Run::open(std::move(taken)));
    object->run = std::move(run);
    *out_run = static_cast<dlc_run *>(addHandle(std::move(object)));
    return {};
  }));
}

dlc_status dlc_run_free(dlc_run *run) { return freeHandle(run, HandleKind::Run); }

dlc_status dlc_run_train(dlc_run *run, const dlc_observer *observer) {
  return inRun(run, Calls::Everything, [&](RunHandle &object) -> Status {
    dlc_observer given = {};
    if (observer) {
      DLC_TRY_ASSIGN(taken, structOf(observer, "dlc_observer"));
      given = taken;
    }
    Observer hears(object, run, given);
    DLC_TRY(object.run->train({&hears}));
    return hears.takeFailure();
  });
}

dlc_status dlc_run_stop(dlc_run *run) {
  const char *why = visitHandle(
      run, HandleKind::Run,
      [](HandleObject &object, void *) { static_cast<RunHandle &>(object).run->stop(); }, nullptr);
  return why ? DLC_NOT_ALIVE : DLC_OK;
}

dlc_status dlc_run_step(dlc_run *run, const dlc_array *batch, size_t count) {
  return inRun(run, Calls::Everything, [&](RunHandle &object) -> Status {
    DLC_TRY(takeArrays(batch, count, "the batch", object.batch));
    Result<const StepReport &> report = object.run->step(object.batch);
    if (report.ok())
      keep(object, *report);
    return report.takeStatus();
  });
}

dlc_status dlc_run_evaluate(dlc_run *run, const dlc_array *arrays, size_t count) {
  return inRun(run, Calls::Evaluating, [&](RunHandle &object) -> Status {
    DLC_TRY_ASSIGN(data, datasetFrom(arrays, count, "the arrays"));
    DLC_TRY_ASSIGN(report, object.run->evaluate(std::move(data)));
    keepTest(object, std::move(report));
    return {};
  });
}

dlc_status dlc_run_predict(dlc_run *run, const char *entry, const dlc_array *inputs,
                           size_t input_count, const dlc_output *outputs, size_t output_count) {
  return inRun(run, Calls::Evaluating, [&](RunHandle &object) -> Status {
    DLC_TRY_ASSIGN(in, arraysOf<Array>(inputs, input_count, "the inputs"));
    DLC_TRY_ASSIGN(out, arraysOf<OutputArray>(outputs, output_count, "the outputs"));
    return object.run->predict(in, out, entry ? entry : "");
  });
}

dlc_status dlc_run_save(dlc_run *run, const char *path) {
  return inRun(run, Calls::Everything, [&](RunHandle &object) -> Status {
    DLC_TRY(present(path, "path"));
    return object.run->save(path);
  });
}

dlc_status dlc_run_load(dlc_run *run, const char *path) {
  return inRun(run, Calls::Everything, [&](RunHandle &object) -> Status {
    DLC_TRY(present(path, "path"));
    return object.run->load(path);
  });
}

dlc_status dlc_run_cuda_device(dlc_run *run, int *out_device) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_device, "out_device"));
    *out_device = cudaOrdinal(*object.run->state()->device()).value_or(-1);
    return {};
  });
}

dlc_status dlc_run_set_stream(dlc_run *run, void *stream) {
  return inRun(run, Calls::Setting, [&](RunHandle &object) {
    object.run->setStream(stream);
    return Status();
  });
}

dlc_status dlc_run_set(dlc_run *run, const char *setting, double value) {
  return inRun(run, Calls::Setting, [&](RunHandle &object) -> Status {
    DLC_TRY(present(setting, "setting"));
    return object.run->set(setting, value);
  });
}

dlc_status dlc_run_progress(dlc_run *run, dlc_progress *out_progress) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    return giveStruct(progressOf(object, object.run->progress()), out_progress, "dlc_progress");
  });
}

dlc_status dlc_run_find_rate(dlc_run *run, const dlc_rate_options *options,
                             dlc_rate_search *out_search) {
  return inRun(run, Calls::Everything, [&](RunHandle &object) -> Status {
    DLC_TRY(checkSize(out_search, "dlc_rate_search"));
    RateSearchOptions wanted;
    if (options) {
      DLC_TRY_ASSIGN(given, structOf(options, "dlc_rate_options"));
      wanted.from = given.from != 0 ? given.from : wanted.from;
      wanted.to = given.to != 0 ? given.to : wanted.to;
      wanted.steps = given.steps != 0 ? given.steps : wanted.steps;
    }
    DLC_TRY_ASSIGN(found, object.run->findRate(wanted));
    object.ratePoints = std::move(found.points);
    const dlc_rate_search search = {.size = sizeof(search),
                                    .setting = object.names.insert(found.setting).first->c_str(),
                                    .count = object.ratePoints.size(),
                                    .suggested = found.suggested.value_or(0),
                                    .diverged = found.diverged};
    return giveStruct(search, out_search, "dlc_rate_search");
  });
}

dlc_status dlc_run_rate_point(dlc_run *run, size_t index, dlc_rate_point *out_point) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_point, "out_point"));
    const std::vector<RatePoint> &points = object.ratePoints;
    if (index >= points.size())
      return invalid("the sweep has ", points.size(), " points, and none of number ", index);
    *out_point = {points[index].rate, points[index].loss, points[index].smoothed};
    return {};
  });
}

dlc_status dlc_run_metric_count(dlc_run *run, dlc_report report, size_t *out_count) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_count, "out_count"));
    DLC_TRY_ASSIGN(metrics, metricsOf(object, report));
    *out_count = metrics->size();
    return {};
  });
}

dlc_status dlc_run_metric_name(dlc_run *run, dlc_report report, size_t index,
                               const char **out_name) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_name, "out_name"));
    DLC_TRY_ASSIGN(metrics, metricsOf(object, report));
    if (index >= metrics->size())
      return invalid("the report has ", metrics->size(), " metrics, and none of number ", index);
    *out_name = object.names.insert((*metrics)[index].first).first->c_str();
    return {};
  });
}

dlc_status dlc_run_metric(dlc_run *run, dlc_report report, const char *name, double *out_value) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_value, "out_value"));
    DLC_TRY_ASSIGN(metric, metricOf(object, report, name));
    *out_value = metric->number;
    return {};
  });
}

dlc_status dlc_run_metric_table(dlc_run *run, dlc_report report, const char *name, size_t *out_side,
                                double *table, size_t count) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_side, "out_side"));
    DLC_TRY_ASSIGN(metric, metricOf(object, report, name));
    *out_side = metric->side();
    if (!table)
      return {};
    if (count < metric->table.size())
      return invalid("'", name, "' has ", metric->table.size(), " values, there is room for ",
                     count);
    std::ranges::copy(metric->table, table);
    return {};
  });
}

dlc_status dlc_run_input(dlc_run *run, const char *entry, size_t index, dlc_array *out_input) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) {
    return describeValue(object, entry, DLC_ENTRY_TRAIN, &EntryInfo::inputs, index, out_input);
  });
}

dlc_status dlc_run_output(dlc_run *run, const char *entry, size_t index, dlc_array *out_output) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) {
    return describeValue(object, entry, DLC_ENTRY_INFER, &EntryInfo::outputs, index, out_output);
  });
}

dlc_status dlc_run_weights_bytes(dlc_run *run, uint64_t *out_bytes) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_bytes, "out_bytes"));
    *out_bytes = object.run->weightsBytes();
    return {};
  });
}

static dlc_status readWeightsTo(dlc_run *run, void *weights, uint64_t bytes, Place place) {
  return inRun(run, Calls::Evaluating, [&](RunHandle &object) -> Status {
    DLC_TRY(present(weights, "weights"));
    return object.run->readWeights({static_cast<std::byte *>(weights), bytes}, place);
  });
}

static dlc_status writeWeightsFrom(dlc_run *run, const void *weights, uint64_t bytes, Place place) {
  return inRun(run, Calls::Everything, [&](RunHandle &object) -> Status {
    DLC_TRY(present(weights, "weights"));
    return object.run->writeWeights({static_cast<const std::byte *>(weights), bytes}, place);
  });
}

dlc_status dlc_run_read_weights(dlc_run *run, void *weights, uint64_t bytes) {
  return readWeightsTo(run, weights, bytes, Place::Host);
}

dlc_status dlc_run_write_weights(dlc_run *run, const void *weights, uint64_t bytes) {
  return writeWeightsFrom(run, weights, bytes, Place::Host);
}

dlc_status dlc_run_read_device_weights(dlc_run *run, void *weights, uint64_t bytes) {
  return readWeightsTo(run, weights, bytes, Place::Device);
}

dlc_status dlc_run_write_device_weights(dlc_run *run, const void *weights, uint64_t bytes) {
  return writeWeightsFrom(run, weights, bytes, Place::Device);
}

dlc_status dlc_run_average_weights(dlc_run *run, dlc_ranks *ranks, double weight) {
  HandleWork work, among;
  if (dlc_status refused = work.begin(run, HandleKind::Run, Calls::Everything))
    return refused;
  if (dlc_status refused = among.begin(ranks, HandleKind::Ranks, Calls::Everything, &work))
    return refused;
  return report(guarded([&] {
    return static_cast<RunHandle &>(work.object())
        .run->averageWeights(*ranksOf(among).ranks, weight);
  }));
}

dlc_status dlc_run_variable_count(dlc_run *run, size_t *out_count) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_count, "out_count"));
    *out_count = planOf(object).variables.size();
    return {};
  });
}

dlc_status dlc_run_variable(dlc_run *run, size_t index, dlc_array *out_variable,
                            uint32_t *out_role) {
  return inRun(run, Calls::Reading, [&](RunHandle &object) -> Status {
    DLC_TRY(present(out_variable, "out_variable"));
    const std::vector<VariableInfo> &variables = planOf(object).variables;
    if (index >= variables.size())
      return invalid("the module has ", variables.size(), " variables, and none of number ", index);
    const VariableInfo &variable = variables[index];
    describeArray(*out_variable, variable.name, variable.type.dtype, variable.type.shape);
    if (out_role)
      *out_role = variable.role;
    return {};
  });
}

dlc_status dlc_run_read_variable(dlc_run *run, const dlc_output *variable) {
  return inRun(run, Calls::Evaluating, [&](RunHandle &object) -> Status {
    DLC_TRY_ASSIGN(arrays, arraysOf<OutputArray>(variable, 1, "the variable"));
    DLC_TRY_ASSIGN(index, variableLike(object, arrays[0]));
    const uint64_t bytes = planOf(object).variables[index].type.logicalBytes();
    return object.run->state()->read(index, {static_cast<std::byte *>(arrays[0].data), bytes},
                                     arrays[0].place);
  });
}

dlc_status dlc_run_write_variable(dlc_run *run, const dlc_array *variable) {
  return inRun(run, Calls::Everything, [&](RunHandle &object) -> Status {
    DLC_TRY_ASSIGN(arrays, arraysOf<Array>(variable, 1, "the variable"));
    DLC_TRY_ASSIGN(index, variableLike(object, arrays[0]));
    const uint64_t bytes = planOf(object).variables[index].type.logicalBytes();
    return object.run->state()->write(
        index, {static_cast<const std::byte *>(arrays[0].data), bytes}, arrays[0].place);
  });
}
