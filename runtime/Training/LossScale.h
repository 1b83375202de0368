// What a run knows of an entry whose loss is scaled: its updates are left out where a gradient is
// not finite, and counted.
#ifndef DLC_RUNTIME_TRAINING_LOSSSCALE_H
#define DLC_RUNTIME_TRAINING_LOSSSCALE_H

#include "dlc/module.h"
#include "dlc/state.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlc::runtime {

class LossScale {
public:
  /// Of the entry `name`, whose counters begin with `prefix` and that updates every so many
  /// batches.
  LossScale(const Plan &plan, std::string_view name, std::string_view prefix, uint32_t updateEvery);

  /// Whether what is not finite leaves out the update, as the loss is scaled.
  bool guards() const { return skipped != nullptr; }
  /// Whether the loss of the last run was not finite.
  bool isLost() const { return lost != 0; }
  /// Takes what checking a run's loss has given, and passes a failure on where it ends the run: the
  /// loss is not scaled, or was not finite in `mostLost` runs in a row.
  Status takeLoss(Status finite);
  /// Adds the names of what `write` adds.
  void appendNames(std::vector<std::string> &names) const;
  /// Adds the scale, where it changes, and how many updates were left out, by their names.
  Status write(const State &state, std::vector<std::pair<std::string_view, double>> &all) const;
  /// Behind an epoch, and `batches` in all: ends a run that makes no update any more, although
  /// losses are finite. All of the last epochs', and at least `mostLost`, were left out, or the
  /// scale fell and fell.
  Status check(const State &state, uint64_t batches);
  /// Counts from the next `check` on, in a run that goes on with another.
  void restart() { counted.reset(); }

private:
  /// In as many a scale of 65536 has fallen below 1, which is of no use then.
  static constexpr unsigned mostLost = 20;
  /// Where more than an overflow must make gradients not finite, as a number of the data does.
  static constexpr double leastScale = 0x1p-14;

  std::string_view name;
  uint32_t updateEvery;
  /// Counters; null without.
  const VariableInfo *scale, *skipped;
  /// The last runs, in a row, of which a loss was not finite.
  unsigned lost = 0;
  /// Updates, and how many of them were left out, at the end of the last epoch; none where that was
  /// in another run.
  struct Updates {
    uint64_t all = 0, leftOut = 0;
  };
  std::optional<Updates> counted = Updates{};
  /// The last updates, in a row, of whole epochs that were left out.
  uint64_t leftOut = 0;
};

} // namespace dlc::runtime

#endif
