// One entry of a module, ready to run on one State: arena, scalars block and bindings.
//
//   auto context = Context::create(state, "infer_n1");
//   context->bind(0, pixels);              // caller's memory, logical row-major
//   context->run();
//   context->read(0, probabilities);
//
// Ownership: owns arena and scalars; shares the State. Bound input memory stays the caller's and
// must live until the run has returned; on a device it may be changed by what the program's stream
// is given from then on. Threads: one thread at a time. Failure: a Context whose run
// failed may be run again.
#ifndef DLC_CONTEXT_H
#define DLC_CONTEXT_H

#include "dlc/state.h"
#include "dlc/timeline.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace dlc::runtime {

/// What is watched of one run, record by record in table order. A watched run waits for each
/// record.
struct Trace {
  /// Seconds each record took. Events take none.
  std::vector<double> seconds;
  /// If set, hears after each record which results that wrote to the arena: number of the record in
  /// the plan, each argument that it writes and does not read, and the bytes there. Where it
  /// returns true, what it has made of these bytes takes their place.
  std::function<bool(uint32_t record, const dlc_argument &argument, std::span<std::byte> written)>
      onWrite;
};

/// Value of a loss or metric.
struct MetricValue {
  /// 0 where it is a table.
  double number = 0;
  /// A square table, row by row; empty for a number.
  std::vector<double> table = {};

  bool operator==(const MetricValue &) const = default;
  /// Rows and columns of the table.
  size_t side() const {
    size_t side = 0;
    while (side * side < table.size())
      ++side;
    return side;
  }
};

class DLC_API Context {
public:
  /// Allocates what one run of the entry needs. Fails with InvalidArgument for an unknown entry,
  /// Unsupported if the plan has records that the State's device cannot run.
  static Result<std::unique_ptr<Context>> create(std::shared_ptr<State> state,
                                                 std::string_view entry);
  ~Context();

  const EntryInfo &entry() const;
  const std::shared_ptr<State> &state() const;

  /// Number of the input or output of that name, or -1.
  int findInput(std::string_view name) const;
  int findOutput(std::string_view name) const;

  /// Says where input number `index` stands from now on. The size must be exactly its
  /// logicalBytes(). Memory aligned to DLC_ALIGNMENT is used in place, other is copied at each run.
  /// `valid` need not be bound: it is the batch then. Memory on a device whose memory is not the
  /// host's is copied there at each run, in order with State::setStream(); numbers of classes are
  /// brought to the host as well, which looks at them. Fails with InvalidArgument where the memory
  /// is seen to lie elsewhere.
  Status bind(size_t index, std::span<const std::byte> source, Place place = Place::Host);

  /// Looks now at numbers of classes that lie on the host, in the place of the next run, and fails
  /// as that does.
  Status checkInputs();

  /// Copies the bound inputs to the device and returns when they are there. Runs use these copies
  /// until an input is bound again.
  Status keepInputs();

  /// Writes a number of the scalars block; it stays until it is written again. Defaults are in
  /// Plan::scalars. Fails where the scalar is an integer and `value` is none that it holds.
  ///
  /// A run of an entry that trains writes by itself what nobody has set: "step", from
  /// State::runs(); the step of random numbers; and learning rates by the module's schedule.
  Status setScalar(std::string_view name, double value);
  /// The same, of one of them: for who writes it in each run.
  Status setScalar(const ScalarInfo &scalar, double value);
  /// From now on random numbers are those of this seed and step, for samples of which the first is
  /// number `firstSample` of that step's. Without it, those of the state's seed; an entry that
  /// trains draws others in each run, another one those of step 0.
  Status setRandom(uint64_t seed, uint64_t step, uint64_t firstSample = 0);
  /// Says how many batches an epoch has. A schedule that counts epochs needs it.
  void setEpoch(uint64_t batches);

  /// Runs the entry once and returns when all of it is done. Evaluation and inference refresh the
  /// derived variables that they read first, where the State has changed. With `trace`, times each
  /// record. Fails with InvalidArgument, before anything has run, if an input is not bound or, of
  /// those that hold classes (ValueInfo::classes), a valid sample has a number that is none of
  /// them, or if rates follow a schedule that counts epochs without setEpoch(), or that waits for
  /// evaluations: then setScalar() gives them. Fails with Failed, behind the run, if a gradient is
  /// not finite that is to be clipped by a norm.
  Status run(Trace *trace = nullptr);

  /// Notes from now on in `timeline` when each run, launch, wait and collective begins and ends;
  /// null: no longer. Only on the CPU do runs stay what they are: elsewhere each record is waited
  /// for.
  void setTimeline(Timeline *timeline);

  /// The two halves of run(), for a caller that prepares the next run while a device is at work:
  /// start() takes the inputs and issues the run, finish() waits for the oldest run that is not
  /// finished, of which there may be two. Results other than accumulators are the last run's.
  Status start(Trace *trace = nullptr);
  Status finish();

  /// Copies output number `index` of the last run in logical row-major form. The size must be
  /// exactly its logicalBytes(). Memory of the device is written in order with State::setStream();
  /// losses, metrics and what the device keeps in another layout go over the host.
  Status read(size_t index, std::span<std::byte> destination, Place place = Place::Host) const;

  /// Value of metric number `index` for the last run alone.
  Result<MetricValue> metric(size_t index) const;

private:
  struct Impl;
  friend class MetricSums;
  /// Bytes of an output that each run hands to the host, of the last one that was finished.
  Result<std::span<const std::byte>> fetched(size_t output) const;
  static Result<std::unique_ptr<Context>> make(std::shared_ptr<State> state, const EntryInfo &entry,
                                               const std::vector<bool> *needed);
  Status startRun(Trace *trace);
  Status readOutput(size_t index, std::span<std::byte> destination, Place place) const;
  explicit Context(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace dlc::runtime

#endif
