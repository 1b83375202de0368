// Walks the records of one entry on a device. All that can be known before a run is worked out
// once: addresses, launches, which of them read an input that the caller may move.
//
// Ownership: keeps the queue; the State, arena, constants and scalars belong to the Context and
// outlive it. Threads: one at a time.
#ifndef DLC_RUNTIME_EXEC_EXECUTOR_H
#define DLC_RUNTIME_EXEC_EXECUTOR_H

#include "dlc/context.h"
#include "runtime/Device/Device.h"

namespace dlc::runtime {

/// Where the spaces of a plan stand, inputs excepted.
struct Spaces {
  std::byte *arena;
  std::byte *state;
  const std::byte *constants;
  const std::byte *scalars;
};

class Executor {
public:
  /// Prepares `entry`, which belongs to the module of `state`: all of its records, or those that
  /// `needed` has.
  static Result<std::unique_ptr<Executor>> create(State &state, const EntryInfo &entry,
                                                  const Spaces &spaces,
                                                  const std::vector<bool> *needed);

  /// Says where an input stands in the following runs.
  void setInput(size_t index, const std::byte *address);

  /// Issues a run; see CommandQueue for its slot. With `trace`, waits for each record, times it,
  /// and calls `done` with its number in the plan.
  using RecordDone = std::function<Status(uint32_t record)>;
  Status run(unsigned slot, Trace *trace, const RecordDone &done);

  /// Notes from now on what a run does when; null: does not.
  void setTimeline(Timeline *noted) { timeline = noted; }

  /// Waits for the last run with this slot; values of the entry's accumulators, one behind the
  /// other.
  Result<std::span<const std::byte>> results(unsigned slot) { return queue->results(slot); }

private:
  Executor(State &state, const EntryInfo &entry, std::unique_ptr<CommandQueue> queue)
      : state(state), plan(state.module()->plan()), entry(entry), queue(std::move(queue)) {}
  void prepare(const Spaces &spaces, const std::vector<bool> *needed);
  Status issue(const dlc_record &record, const Launch &launch);
  Status walk(Trace *trace, const RecordDone &done);
  void note(uint32_t number, int64_t begin, int64_t end);

  /// A buffer that lies in an input: slot of `buffers`, and where in the input it begins.
  struct InputUse {
    size_t slot;
    uint64_t offset;
  };

  State &state;
  const Plan &plan;
  const EntryInfo &entry;
  std::unique_ptr<CommandQueue> queue;
  /// Addresses of all records' arguments, one after the other.
  std::vector<void *> buffers;
  /// One for each record; empty where it launches nothing.
  std::vector<Launch> launches;
  /// For each record whether its condition keeps it from running, or nobody needs it.
  std::vector<bool> skipped;
  std::vector<std::vector<InputUse>> inputUses;
  /// Where each input stands.
  std::vector<const std::byte *> inputs;
  std::vector<AccumulatorPlace> accumulators;
  std::byte *arena = nullptr;
  Timeline *timeline = nullptr;
};

} // namespace dlc::runtime

#endif
