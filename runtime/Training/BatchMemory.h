// Batches in memory that the device of a run takes inputs from by itself.
#ifndef DLC_RUNTIME_TRAINING_BATCHMEMORY_H
#define DLC_RUNTIME_TRAINING_BATCHMEMORY_H

#include "runtime/Data/BatchLoader.h"
#include "runtime/Device/Device.h"

namespace dlc::runtime {

inline BatchMemory batchMemoryOf(const std::shared_ptr<Device> &device) {
  if (device->sharesHostMemory())
    return {};
  return {.allocate = [device](uint64_t bytes) { return device->allocateHost(bytes); },
          .settle = [device] { return device->settle(); }};
}

} // namespace dlc::runtime

#endif
