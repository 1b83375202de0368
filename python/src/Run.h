// dlc::Run for Python: one call at a time, the GIL given back while the library computes, and what
// callbacks raise brought out unchanged.
//
// Threads: a call of another thread's, or of a callback that may not make it, is an error. Forks:
// the library refuses the calls of a child; that one lets go of a run without ending its threads,
// which it does not have.
#ifndef DLC_PYTHON_SRC_RUN_H
#define DLC_PYTHON_SRC_RUN_H

#include "Arrays.h"

#include <optional>
#include <sys/types.h>
#include <thread>

namespace dlc::python {

/// Calls a logger as Python's are called: a level of the module logging, and a line. `logger` may
/// be None, and may be called on any thread.
void say(const nb::object &logger, runtime::Severity severity, std::string_view line);

/// nb::find() of it is its object in Python.
class Run {
public:
  /// `fill`: makes batches, fill(epoch, batch, {input: array}); `logger`: hears lines; each may be
  /// None.
  Run(runtime::RunOptions options, nb::object fill, nb::object logger);
  ~Run();
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  /// `callback` hears each StepReport and EpochReport, `progress` each EpochReport and some steps;
  /// each may be None.
  void train(const nb::object &callback, const nb::object &progress,
             std::optional<uint64_t> epochs);
  nb::dict step(nb::handle batch);
  /// A RateSearch; `callback` hears each RatePoint, and may be None.
  nb::object findRate(double lowest, double highest, uint64_t steps, const nb::object &callback);
  nb::dict evaluate(nb::handle data);
  /// None where outputs are written `into` a mapping's arrays.
  nb::object predict(nb::handle inputs, std::string_view entry, nb::handle into);
  void save(const std::filesystem::path &path);
  void load(const std::filesystem::path &path);
  void set(const std::string &setting, double value);
  void setStream(uintptr_t stream);
  std::optional<int> cudaDevice() const;
  void averageWeights(runtime::Ranks &ranks, double weight);
  void stop() { run->stop(); }
  nb::object progress();

  /// Of parameters and statistics, in the module's order.
  std::vector<std::string> variables() const;
  nb::object read(const std::string &variable);
  void write(const std::string &variable, nb::handle value);
  nb::object readWeights();
  void writeWeights(nb::handle value);

  /// For the collector of garbage: `fill` and `logger` may lead back to the run.
  static int traverse(PyObject *self, visitproc visit, void *arg);
  static int clear(PyObject *self);

private:
  /// What a call does to the run: decides which callbacks may make it.
  enum class Access { Set, Read, Change };
  /// Where the call is that is at work.
  enum class Phase { Library, Step, Epoch };
  class Turn;
  class Observer;
  friend class Observer;

  template <typename Body> auto call(Access access, const Body &body);
  template <typename Body> void hear(Phase phase, const Body &body);
  void rethrow();
  void sayLine(runtime::Severity severity, std::string_view line);
  Status fillBatch(uint64_t epoch, uint64_t batch, std::span<const runtime::OutputArray> inputs);
  Reach reach() const;
  size_t find(const std::string &variable) const;
  dlc_dtype weightsType() const;

  nb::object fill, logger;
  const pid_t process;
  std::unique_ptr<runtime::Run> run;
  /// The thread that a call is at work on, and where it is; read and written with the GIL.
  std::optional<std::thread::id> worker;
  Phase phase = Phase::Library;
  /// What a callback has raised first.
  std::optional<nb::python_error> raised;
};

} // namespace dlc::python

#endif
