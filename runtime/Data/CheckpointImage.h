// A checkpoint in memory: what training needs to stand still for, so that the file can be written
// while it goes on.
//
// Ownership: owns copies. Threads: one at a time.
#ifndef DLC_RUNTIME_DATA_CHECKPOINTIMAGE_H
#define DLC_RUNTIME_DATA_CHECKPOINTIMAGE_H

#include "runtime/Core/HostMemory.h"
#include "runtime/Data/CarriedStates.h"
#include "runtime/Data/Safetensors.h"

#include <optional>

namespace dlc::runtime {

/// A tensor of a checkpoint.
struct CheckpointTensor {
  /// For messages: "parameter".
  std::string_view what;
  StoredTensor stored;
  /// Where its content is: in a variable, or else there.
  std::optional<size_t> variable = {};
  std::span<const std::byte> content = {};
  /// Whether it may hold what is not finite: a sum of gradients whose update is left out then.
  bool mayOverflow = false;
};

/// What of that which saveVariablesOf() would write is not finite, where it refuses that; empty:
/// nothing. Fails if it cannot be read.
Result<std::string> findNotFinite(const State &state, const CarriedStates &all);

class CheckpointImage {
public:
  /// Gets the memory that take() will need of so many ranks, if there is as much, and lets the
  /// system back it: that takes several times as long as the copy.
  void reserve(const State &state, unsigned ranks);
  /// Copies what saveVariablesOf() would write, into the memory of the image before. Fails with
  /// OutOfMemory.
  Status take(const State &state, const CarriedStates &all, Metadata metadata);
  /// Computes the checksums of what was taken. What is not finite, or empty.
  std::string check();
  /// Writes the file that saveVariablesOf() would have written, behind check().
  Status write(const std::string &path);

private:
  std::vector<CheckpointTensor> tensors;
  /// Of all tensors, one behind the other.
  HostMemory contents;
  Metadata metadata;
};

} // namespace dlc::runtime

#endif
