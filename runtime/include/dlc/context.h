// One entry of a module, ready to run on one State: arena, scalars block and bindings.
//
//   auto context = Context::create(state, "infer_n1");
//   context->bind(0, pixels);              // caller's memory, logical row-major
//   context->run();
//   context->read(0, probabilities);
//
// Ownership: owns arena and scalars; shares the State. Bound input memory stays the caller's and
// must live until the run has returned. Threads: one thread at a time. Failure: a Context whose run
// failed may be run again.
#ifndef DLC_CONTEXT_H
#define DLC_CONTEXT_H

#include "dlc/state.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace dlc::runtime {

/// Seconds each record of an entry took in one run, in table order. Events take none.
struct Trace {
  std::vector<double> seconds;
};

class Context {
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
  /// `valid` need not be bound: it is the batch then.
  Status bind(size_t index, std::span<const std::byte> source);

  /// Writes a number of the scalars block; it stays until it is written again. Defaults are in
  /// Plan::scalars.
  Status setScalar(std::string_view name, double value);

  /// Runs the entry once and returns when all of it is done. Refreshes derived variables first
  /// where the State was changed from outside. With `trace`, times each record.
  Status run(Trace *trace = nullptr);

  /// Copies output number `index` of the last run in logical row-major form. The size must be
  /// exactly its logicalBytes().
  Status read(size_t index, std::span<std::byte> destination) const;

  /// Value of metric number `index` for the last run alone.
  Result<double> metric(size_t index) const;

private:
  struct Impl;
  explicit Context(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace dlc::runtime

#endif
