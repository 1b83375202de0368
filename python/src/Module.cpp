// The extension _dlc: what python/dlc is built on. Docstrings are there.
#include "Run.h"

#include <dlc/version.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

namespace dlc::python {
namespace {

using runtime::Ranks, runtime::RanksOptions, runtime::RunOptions, runtime::Severity;
using namespace nb::literals;
using std::filesystem::path;
using Number = std::optional<uint64_t>;

RanksOptions ranksOptions(double timeout, const nb::object &logger) {
  // It may outlive the interpreter, whose objects are then left alone.
  auto held = std::shared_ptr<nb::object>(new nb::object(logger), [](nb::object *object) {
    if (!nb::is_alive())
      return (void)object->release();
    const nb::gil_scoped_acquire acquire;
    delete object;
  });
  auto log = [held](Severity severity, std::string_view line) {
    if (!nb::is_alive())
      return;
    const nb::gil_scoped_acquire acquire;
    try {
      say(*held, severity, line);
    } catch (nb::python_error &error) {
      error.discard_as_unraisable("a logger of dlc");
    }
  };
  return {.timeout = timeout, .log = log};
}

/// Calls open() without the GIL. The ranks end without it too, as their threads may be logging; a
/// forked process, which has no such threads, lets go of them.
template <typename Open> std::shared_ptr<Ranks> ranksOf(const Open &open) {
  Result<std::shared_ptr<Ranks>> opened = [&] {
    const nb::gil_scoped_release release;
    return open();
  }();
  auto ranks = std::make_unique<std::shared_ptr<Ranks>>(valueOf(std::move(opened)));
  Ranks *raw = ranks->get();
  return {raw, [ranks = ranks.release(), process = getpid()](Ranks *) {
            if (!nb::is_alive() || getpid() != process)
              return;
            const nb::gil_scoped_acquire acquire;
            const nb::gil_scoped_release release;
            delete ranks;
          }};
}

std::shared_ptr<Ranks> openRanks(double timeout, const nb::object &logger) {
  const RanksOptions options = ranksOptions(timeout, logger);
  return ranksOf([&] { return Ranks::open(options); });
}

std::shared_ptr<Ranks> joinRanks(int communicator, double timeout, const nb::object &logger) {
  const RanksOptions options = ranksOptions(timeout, logger);
  return ranksOf([&] { return Ranks::join(communicator, options); });
}

void leaveRanks(Ranks &ranks) {
  check([&] {
    const nb::gil_scoped_release release;
    return ranks.leave();
  }());
}

void openRun(Run *self, const path &module, nb::handle data, nb::handle test, nb::object fill,
             uint64_t batchesPerEpoch, std::string device, unsigned threads, Number seed,
             Number epochs, Number steps, std::map<std::string, double> overrides,
             const path &checkpoint, uint64_t checkpointEvery, bool resume, bool overwrite,
             const path &initFrom, const path &weights, std::string augment,
             std::optional<unsigned> loadWorkers, std::optional<unsigned> loadAhead,
             std::shared_ptr<Ranks> ranks, uint64_t checkRanks, nb::object log, uint64_t keep,
             std::string saveBest, uint64_t evaluateEvery, uint64_t patience, double minDelta,
             std::string patienceMetric, double timeLimit, const path &logFile,
             std::vector<std::string> rename, double limit, uint64_t overfitBatches,
             bool fastDevRun, bool checkFinite, uint64_t norms, double share,
             uint64_t maxBadRecords, const path &tensorboard, uint64_t histograms) {
  RunOptions options{.module = module,
                     .device = {.name = std::move(device), .threads = threads},
                     .augment = std::move(augment),
                     .seed = seed,
                     .epochs = epochs,
                     .steps = steps,
                     .overrides = std::move(overrides),
                     .checkpoint = checkpoint,
                     .checkpointEvery = checkpointEvery,
                     .resume = resume,
                     .overwrite = overwrite,
                     .initFrom = initFrom,
                     .weights = weights,
                     .ranks = std::move(ranks),
                     .checkRanks = checkRanks,
                     .keep = keep,
                     .saveBest = std::move(saveBest),
                     .evaluateEvery = evaluateEvery,
                     .patience = patience,
                     .minDelta = minDelta,
                     .patienceMetric = std::move(patienceMetric),
                     .timeLimit = timeLimit,
                     .rename = std::move(rename),
                     .logFile = logFile,
                     .limit = limit,
                     .overfitBatches = overfitBatches,
                     .fastDevRun = fastDevRun,
                     .checkFinite = checkFinite,
                     .norms = norms,
                     .share = share,
                     .tensorboard = tensorboard,
                     .histograms = histograms};
  options.batches.perEpoch = batchesPerEpoch;
  options.load.workers = loadWorkers.value_or(options.load.workers);
  options.load.ahead = loadAhead.value_or(options.load.ahead);
  options.load.maxBadRecords = maxBadRecords;
  if (!nb::try_cast(data, options.data))
    options.train = datasetOf(data, "`data`");
  if (!nb::try_cast(test, options.testData))
    options.test = datasetOf(test, "`test`");
  new (self) Run(std::move(options), std::move(fill), std::move(log));
}

void define(nb::module_ &module) {
  // A run that a program still has when it ends is no mistake.
  nb::set_leak_warnings(false);
  module.attr("__version__") = DLC_VERSION;

  nb::class_<Ranks>(module, "Ranks")
      .def_prop_ro("rank", &Ranks::rank)
      .def_prop_ro("size", &Ranks::size)
      .def("leave", &leaveRanks);
  module.def("open_ranks", &openRanks, "timeout"_a, "log"_a.none());
  module.def("join_ranks", &joinRanks, "communicator"_a, "timeout"_a, "log"_a.none());

  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void *>(&Run::traverse)},
                                {Py_tp_clear, reinterpret_cast<void *>(&Run::clear)},
                                {0, nullptr}};
  nb::class_<Run>(module, "Run", nb::type_slots(slots))
      .def("__init__", &openRun, nb::kw_only(), "module"_a, "data"_a.none(), "test"_a.none(),
           "fill"_a.none(), "batches_per_epoch"_a, "device"_a, "threads"_a, "seed"_a.none(),
           "epochs"_a.none(), "steps"_a.none(), "overrides"_a, "checkpoint"_a, "checkpoint_every"_a,
           "resume"_a, "overwrite"_a, "init_from"_a, "weights"_a, "augment"_a,
           "load_workers"_a.none(), "load_ahead"_a.none(), "ranks"_a.none(), "check_ranks"_a,
           "log"_a.none(), "keep"_a, "save_best"_a, "evaluate_every"_a, "patience"_a, "min_delta"_a,
           "patience_metric"_a, "time_limit"_a, "log_file"_a, "rename"_a, "limit"_a,
           "overfit_batches"_a, "fast_dev_run"_a, "check_finite"_a, "norms"_a, "share"_a,
           "max_bad_records"_a, "tensorboard"_a, "histograms"_a)
      .def("train", &Run::train, "callback"_a.none(), "progress"_a.none(), "epochs"_a.none())
      .def("step", &Run::step, "batch"_a)
      .def("find_rate", &Run::findRate, "lowest"_a, "highest"_a, "steps"_a, "callback"_a.none())
      .def("evaluate", &Run::evaluate, "data"_a.none())
      .def("predict", &Run::predict, "inputs"_a, "entry"_a, "into"_a.none())
      .def("save", &Run::save, "path"_a)
      .def("load", &Run::load, "path"_a)
      .def("set", &Run::set, "setting"_a, "value"_a)
      .def("set_stream", &Run::setStream, "stream"_a)
      .def("cuda_device", &Run::cudaDevice)
      .def("average_weights", &Run::averageWeights, "ranks"_a, "weight"_a)
      .def("stop", &Run::stop)
      .def("progress", &Run::progress)
      .def("variables", &Run::variables)
      .def("read", &Run::read, "variable"_a)
      .def("write", &Run::write, "variable"_a, "value"_a)
      .def("read_weights", &Run::readWeights)
      .def("write_weights", &Run::writeWeights, "value"_a);
}

} // namespace
} // namespace dlc::python

NB_MODULE(_dlc, module) { dlc::python::define(module); }
