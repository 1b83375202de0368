// Where plans run. The CPU is the device that this library always has; others are added behind the
// same interface (runtime/Device/Device.h), which is not part of the installed API.
//
// Ownership: States and Contexts share the device they were created on.
// Threads: a Device may be shared; runs of contexts that share one CPU device take turns.
#ifndef DLC_DEVICE_H
#define DLC_DEVICE_H

#include "dlc/status.h"

#include <memory>

namespace dlc::runtime {

class Device;

struct CpuOptions {
  /// Threads that run kernels, the calling one included; 0 takes one for each processor this
  /// process may use. Results do not depend on it.
  unsigned threads = 0;
};

/// Opens the CPU and starts its threads. Fails with InvalidArgument for an absurd number of
/// threads.
Result<std::shared_ptr<Device>> openCpu(const CpuOptions &options = {});

} // namespace dlc::runtime

#endif
