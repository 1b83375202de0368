// Finds the first number of a step that is not finite: in the inputs, or in what the records write,
// in order of execution.
//
// Some are meant to be infinite, as a mask is: what was not finite in a step whose losses were is
// passed over in later ones.
#ifndef DLC_RUNTIME_TRAINING_FINITEWATCH_H
#define DLC_RUNTIME_TRAINING_FINITEWATCH_H

#include "dlc/context.h"

#include <set>
#include <utility>

namespace dlc::runtime {

class Transport;

class FiniteWatch {
public:
  /// Begins a step.
  void begin() { found.clear(); }
  /// Looks at an input, on the host, of a run that is about to be started.
  void lookAt(const EntryInfo &entry, size_t index, std::span<const std::byte> input);
  /// Is given to that run: hears what its records write to the arena.
  Trace *watch(const Plan &plan);
  /// The step was good.
  void settle();
  /// Of a step that failed, on all ranks alike: what was not finite first, on the rank where it
  /// was; empty where nothing was seen. The ranks call it together.
  std::string describe(const Plan &plan, Transport &ranks) const;

private:
  /// A tensor with a number that is not finite: of a record, one of its arguments, or an input.
  struct Place {
    /// Records count from 1; 0: an input.
    uint32_t record, index;
    uint64_t element;
    double value;
  };
  Trace trace;
  std::vector<Place> found;
  std::set<std::pair<uint32_t, uint32_t>> usual;
};

} // namespace dlc::runtime

#endif
