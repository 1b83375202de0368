// A checkpoint in memory: what training needs to stand still for, so that the file can be written
// while it goes on.
//
// Ownership: owns copies. Threads: take() and write() by one thread at a time.
#ifndef DLC_RUNTIME_DATA_CHECKPOINTIMAGE_H
#define DLC_RUNTIME_DATA_CHECKPOINTIMAGE_H

#include "runtime/Core/HostMemory.h"
#include "runtime/Data/CarriedStates.h"
#include "runtime/Data/Safetensors.h"

namespace dlc::runtime {

class CheckpointImage {
public:
  /// Gets the memory that take() will need, if there is as much, and lets the system back it: that
  /// takes several times as long as the copy.
  void reserve(const State &state);
  /// Copies what saveVariablesOf() would write, into the memory of the image before. Fails with
  /// OutOfMemory.
  Status take(const State &state, const CarriedStates &all, Metadata metadata);
  /// Writes the file that saveVariablesOf() would have written, or fails as that does where a
  /// number is not finite.
  Status write(const std::string &path);

private:
  /// `what`, for messages: "parameter".
  struct Part {
    std::string_view what;
    StoredTensor tensor;
    std::span<const std::byte> content;
  };
  std::vector<Part> parts;
  /// One behind the other, `bytes` in all.
  HostMemory contents;
  uint64_t bytes = 0;
  Metadata metadata;
};

} // namespace dlc::runtime

#endif
