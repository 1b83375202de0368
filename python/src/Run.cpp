// The GIL, callbacks and exceptions around each call of a run.
#include "Run.h"

#include <algorithm>
#include <chrono>
#include <nanobind/stl/optional.h>
#include <unistd.h>

namespace dlc::python {

using namespace runtime;
using Clock = std::chrono::steady_clock;

/// Bars are drawn, and signals looked for, no more often.
static constexpr auto drawPause = std::chrono::milliseconds(100);
static constexpr auto signalPause = std::chrono::milliseconds(20);

void say(const nb::object &logger, Severity severity, std::string_view line) {
  if (!nb::is_alive() || !logger.is_valid() || logger.is_none())
    return;
  constexpr int levels[] = {20, 30, 40}; // logging.INFO, WARNING, ERROR
  const nb::gil_scoped_acquire acquire;
  logger(levels[static_cast<size_t>(severity)], lineOf(line));
}

/// The class of that name in python/dlc/_reports.py.
static nb::object report(const char *name) {
  return nb::module_::import_("dlc._reports").attr(name);
}

static nb::object progressOf(const TrainingProgress &progress) {
  return report("Progress")(progress.seed, progress.step, progress.epoch, progress.position);
}

static nb::dict ratesOf(const std::vector<std::pair<std::string_view, double>> &rates) {
  nb::dict named;
  for (const auto &[name, rate] : rates)
    named[nb::str(name.data(), name.size())] = rate;
  return named;
}

/// {name: ParameterNorm}
static nb::dict normsOf(const std::vector<ParameterNorm> &norms) {
  nb::dict named;
  for (const auto &[name, weight, gradient] : norms)
    named[nb::str(name.data(), name.size())] = report("ParameterNorm")(weight, gradient);
  return named;
}

static nb::object stepReport(const StepReport &r) {
  return report("StepReport")(progressOf(r.progress), r.stepsInEpoch, r.epochs, r.samples,
                              metricsOf(r.batch), metricsOf(r.epoch), r.seconds, ratesOf(r.rates),
                              r.tokens, normsOf(r.norms), r.rested);
}

static nb::object epochReport(const EpochReport &r) {
  return report("EpochReport")(progressOf(r.progress), r.samples, metricsOf(r.train), r.seconds,
                               r.test ? nb::object(metricsOf(r.test->metrics)) : nb::none(),
                               ratesOf(r.rates), r.badRecords,
                               r.test ? r.test->badRecords : std::nullopt);
}

static nb::object ratePoint(const RatePoint &point) {
  return report("RatePoint")(point.rate, point.loss, point.smoothed);
}

/// Takes the run for a call, or refuses it.
class Run::Turn {
public:
  Turn(Run &run, Access access) : run(run), outer(run.phase), isFirst(!run.worker) {
    if (isFirst) {
      run.worker = std::this_thread::get_id();
    } else if (run.worker != std::this_thread::get_id()) {
      raise(StatusCode::InvalidArgument,
            "the run is at work in another thread, and takes one at a time");
    } else if (run.phase == Phase::Library ||
               (access != Access::Set && run.phase != Phase::Epoch) || access == Access::Change) {
      raise(StatusCode::InvalidArgument,
            "the run is at work: a callback may set rates, and after an epoch evaluate, predict "
            "and read weights");
    }
    run.phase = Phase::Library;
  }
  ~Turn() {
    run.phase = outer;
    if (isFirst)
      run.worker.reset();
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

private:
  Run &run;
  const Phase outer;
  const bool isFirst;
};

/// Calls body() without the GIL.
template <typename Body> auto Run::call(Access access, const Body &body) {
  const Turn turn(*this, access);
  auto result = [&] {
    const nb::gil_scoped_release release;
    return body();
  }();
  rethrow();
  return valueOf(std::move(result));
}

/// Calls body() with the GIL, in a callback; what it raises comes out where the call of the run
/// ends.
template <typename Body> void Run::hear(Phase where, const Body &body) {
  const nb::gil_scoped_acquire acquire;
  if (raised)
    return;
  const Phase outer = phase;
  phase = where;
  try {
    body();
  } catch (nb::python_error &error) {
    raised.emplace(std::move(error));
  }
  phase = outer;
}

void Run::rethrow() {
  if (!raised)
    return;
  nb::python_error error = std::move(*raised);
  raised.reset();
  throw error;
}

Run::Run(RunOptions options, nb::object fill, nb::object logger)
    : fill(std::move(fill)), logger(std::move(logger)), process(getpid()) {
  options.log = [this](Severity severity, std::string_view line) { sayLine(severity, line); };
  if (!this->fill.is_none())
    options.batches.fill = [this](uint64_t epoch, uint64_t batch,
                                  std::span<const OutputArray> inputs) {
      return fillBatch(epoch, batch, inputs);
    };
  run = call(Access::Change, [&] { return runtime::Run::open(std::move(options)); });
}

Run::~Run() {
  const nb::gil_scoped_release release;
  if (getpid() == process)
    run.reset();
  else
    (void)run.release();
}

void Run::sayLine(Severity severity, std::string_view line) {
  if (!nb::is_alive())
    return;
  const nb::gil_scoped_acquire acquire;
  try {
    say(logger, severity, line);
  } catch (nb::python_error &error) {
    if (worker == std::this_thread::get_id() && !raised)
      raised.emplace(std::move(error));
    else
      error.discard_as_unraisable("a logger of dlc");
  }
}

Status Run::fillBatch(uint64_t epoch, uint64_t batch, std::span<const OutputArray> inputs) {
  hear(Phase::Library, [&] {
    nb::dict arrays;
    for (const OutputArray &input : inputs)
      arrays[input.name.c_str()] = numpyOf(input.data, input.dtype, input.shape, nb::find(*this));
    fill(epoch, batch, arrays);
  });
  return raised ? Status(StatusCode::Failed, "an exception of Python") : Status();
}

class Run::Observer : public TrainObserver {
public:
  Observer(Run &run, const nb::object &callback, const nb::object &progress)
      : run(run), callback(callback), progress(progress) {}

  void onStep(const StepReport &report) override {
    const bool draws = !progress.is_none() && isDue(lastDraw, drawPause);
    if (draws || !callback.is_none())
      run.hear(Phase::Step, [&] { tell(stepReport(report), draws); });
  }
  void onEpoch(const EpochReport &report) override {
    if (!progress.is_none() || !callback.is_none())
      run.hear(Phase::Epoch, [&] { tell(epochReport(report), !progress.is_none()); });
  }
  void onCheckpointFailed(const Status &reason) override {
    run.sayLine(Severity::Warning, std::string(reason.message()) + "; training goes on");
  }
  bool shouldStop() override {
    if (!run.raised && isDue(lastSignal, signalPause))
      run.hear(Phase::Library, [] {
        if (PyErr_CheckSignals() != 0)
          throw nb::python_error();
      });
    return run.raised.has_value();
  }

private:
  void tell(const nb::object &report, bool draws) {
    if (draws)
      progress(report);
    if (!callback.is_none())
      callback(report);
  }
  static bool isDue(Clock::time_point &last, Clock::duration pause) {
    const Clock::time_point now = Clock::now();
    if (now - last < pause)
      return false;
    last = now;
    return true;
  }

  Run &run;
  const nb::object &callback, &progress;
  Clock::time_point lastDraw, lastSignal;
};

void Run::train(const nb::object &callback, const nb::object &progress,
                std::optional<uint64_t> epochs) {
  Observer observer(*this, callback, progress);
  call(Access::Change, [&] {
    if (epochs)
      run->setEpochs(*epochs);
    return run->train({&observer});
  });
}

std::optional<int> Run::cudaDevice() const { return cudaOrdinal(*run->state()->device()); }

Reach Run::reach() const {
  return {cudaDevice(), reinterpret_cast<uintptr_t>(run->state()->stream())};
}

void Run::setStream(uintptr_t stream) {
  call(Access::Set, [&] {
    run->setStream(reinterpret_cast<void *>(stream));
    return Status();
  });
}

nb::dict Run::step(nb::handle batch) {
  const HeldArrays held = arraysOf(batch, reach());
  return metricsOf(call(Access::Change, [&] { return run->step(held.arrays); }).batch);
}

nb::object Run::findRate(double lowest, double highest, uint64_t steps,
                         const nb::object &callback) {
  RateSearchOptions options{.from = lowest, .to = highest, .steps = steps};
  options.hear = [&](const RatePoint &point) {
    hear(Phase::Library, [&] {
      if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
      if (!callback.is_none())
        callback(ratePoint(point));
    });
    if (raised)
      run->stop();
  };
  const RateSearch found = call(Access::Change, [&] { return run->findRate(options); });
  nb::list points;
  for (const RatePoint &point : found.points)
    points.append(ratePoint(point));
  return report("RateSearch")(found.setting, points, found.suggested, found.diverged);
}

nb::dict Run::evaluate(nb::handle data) {
  const EntryInfo *reader = run->module()->plan().findEntry(DLC_ENTRY_EVALUATE);
  const auto dataset = datasetOf(data, "`data`", reader);
  return metricsOf(call(Access::Read, [&] { return run->evaluate(dataset); }).metrics);
}

nb::object Run::predict(nb::handle inputs, std::string_view entry, nb::handle into) {
  const HeldArrays held = arraysOf(inputs, reach());
  if (!into.is_none()) {
    const HeldOutputs written = outputsOf(into, reach());
    call(Access::Read, [&] { return run->predict(held.arrays, written.arrays, entry); });
    return nb::none();
  }
  std::vector<Tensor> outputs =
      call(Access::Read, [&] { return run->predict(held.arrays, entry); });
  if (outputs.size() == 1)
    return numpyOf(std::move(outputs[0].bytes), outputs[0].dtype, outputs[0].shape);
  nb::dict all;
  for (Tensor &output : outputs)
    all[output.name.c_str()] = numpyOf(std::move(output.bytes), output.dtype, output.shape);
  return all;
}

void Run::save(const std::filesystem::path &path) {
  call(Access::Change, [&] { return run->save(path); });
}

void Run::load(const std::filesystem::path &path) {
  call(Access::Change, [&] { return run->load(path); });
}

void Run::set(const std::string &setting, double value) {
  call(Access::Set, [&] { return run->set(setting, value); });
}

void Run::averageWeights(Ranks &ranks, double weight) {
  call(Access::Change, [&] { return run->averageWeights(ranks, weight); });
}

nb::object Run::progress() {
  const Turn turn(*this, Access::Set);
  return progressOf(run->progress());
}

static bool isWeight(const VariableInfo &variable) {
  return variable.role == DLC_ROLE_PARAMETER || variable.role == DLC_ROLE_STATISTIC;
}

std::vector<std::string> Run::variables() const {
  std::vector<std::string> names;
  for (const VariableInfo &variable : run->module()->plan().variables)
    if (isWeight(variable))
      names.emplace_back(variable.name);
  return names;
}

/// A name that is none is a KeyError, as in any mapping.
size_t Run::find(const std::string &name) const {
  const std::vector<VariableInfo> &variables = run->module()->plan().variables;
  const auto found = std::ranges::find_if(variables, [&](const VariableInfo &variable) {
    return isWeight(variable) && variable.name == name;
  });
  if (found == variables.end())
    throw nb::key_error(name.c_str());
  return static_cast<size_t>(found - variables.begin());
}

nb::object Run::read(const std::string &variable) {
  const size_t index = find(variable);
  const TensorType &type = run->module()->plan().variables[index].type;
  std::vector<std::byte> bytes(type.logicalBytes());
  call(Access::Read, [&] { return run->state()->read(index, bytes); });
  return numpyOf(std::move(bytes), type.dtype, type.shape);
}

void Run::write(const std::string &variable, nb::handle value) {
  const size_t index = find(variable);
  const TensorType &type = run->module()->plan().variables[index].type;
  const HeldArray held = arrayOf(value, "'" + variable + "'", {}, reach());
  const TensorType given{held.array.dtype, held.array.shape, {}};
  if (given.dtype != type.dtype || given.shape != type.shape)
    raise(StatusCode::InvalidArgument,
          "'" + variable + "' is " + type.str() + ", the array that is assigned " + given.str());
  const std::span bytes(static_cast<const std::byte *>(held.array.data), type.logicalBytes());
  call(Access::Change, [&] { return run->state()->write(index, bytes, held.array.place); });
}

/// Bytes where the weights are of several types.
dlc_dtype Run::weightsType() const {
  std::optional<dlc_dtype> one;
  for (const VariableInfo &variable : run->module()->plan().variables)
    if (isWeight(variable)) {
      if (one.value_or(variable.type.dtype) != variable.type.dtype)
        return DLC_U8;
      one = variable.type.dtype;
    }
  return one.value_or(DLC_U8);
}

nb::object Run::readWeights() {
  const dlc_dtype dtype = weightsType();
  std::vector<std::byte> bytes(run->weightsBytes());
  call(Access::Read, [&] { return run->readWeights(bytes); });
  const uint64_t count = bytes.size() / dtypeSize(dtype);
  return numpyOf(std::move(bytes), dtype, {count});
}

void Run::writeWeights(nb::handle value) {
  const HeldArray held = arrayOf(value, "`weights`", {}, reach());
  const TensorType given{held.array.dtype, held.array.shape, {}};
  if (given.dtype != weightsType())
    raise(StatusCode::InvalidArgument, "`weights` are of " + std::string(dtypeName(weightsType())) +
                                           ", the array that is assigned is " + given.str());
  const std::span bytes(static_cast<const std::byte *>(held.array.data), given.logicalBytes());
  call(Access::Change, [&] { return run->writeWeights(bytes, held.array.place); });
}

int Run::traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self))
    return 0;
  const Run *run = nb::inst_ptr<Run>(self);
  for (const nb::object *held : {&run->fill, &run->logger})
    if (const int stopped = held->is_valid() ? visit(held->ptr(), arg) : 0)
      return stopped;
  return 0;
}

int Run::clear(PyObject *self) {
  Run *run = nb::inst_ptr<Run>(self);
  run->fill.reset();
  run->logger.reset();
  return 0;
}

} // namespace dlc::python
