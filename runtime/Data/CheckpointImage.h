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
  /// Copies what saveVariablesOf() would write, into the memory of the image before. Fails as that
  /// does where a number is not finite, and with OutOfMemory.
  Status take(const State &state, const CarriedStates &all, Metadata metadata);
  /// Writes the file that saveVariablesOf() would have written.
  Status write(const std::string &path);

private:
  std::vector<StoredTensor> tensors;
  /// One behind the other, `bytes` in all.
  HostMemory contents;
  uint64_t bytes = 0;
  Metadata metadata;
};

} // namespace dlc::runtime

#endif
