// Where plans run: the CPU, a CUDA device, or the SIMT device, which runs a CUDA plan on the CPU to
// find its errors. The interface behind it (runtime/Device/Device.h) is not part of the installed
// API.
//
// Ownership: States and Contexts share the device they were created on.
// Threads: a Device may be shared; runs of contexts that share one device take turns.
#ifndef DLC_DEVICE_H
#define DLC_DEVICE_H

#include "dlc/log.h"
#include "dlc/status.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dlc::runtime {

class Device;
class Module;

/// Where memory of the program's lies.
enum class Place {
  Host,
  /// On the device of the run: what cudaMalloc() or cudaMallocManaged() gave for it. The memory of
  /// the CPU and of SIMT is the host's, so there it is as Host.
  Device
};

struct CpuOptions {
  /// Threads that run kernels, the calling one included; 0 takes one for each processor this
  /// process may use. Results do not depend on it.
  unsigned threads = 0;
};

/// Opens the CPU and starts its threads. Fails with InvalidArgument for an absurd number of
/// threads.
DLC_API Result<std::shared_ptr<Device>> openCpu(const CpuOptions &options = {});

struct SimtOptions {
  /// As CpuOptions.
  unsigned threads = 0;
  /// Chooses the order of everything that a plan leaves open: streams, blocks, warps, threads. A
  /// plan without errors gives the same results for every seed.
  uint64_t seed = 0;
  /// False: as if all calls of libraries were refused.
  bool libraries = true;
};

/// Opens the CPU as a device for CUDA plans whose kernels were compiled for it too.
DLC_API Result<std::shared_ptr<Device>> openSimt(const SimtOptions &options = {});

struct CudaOptions {
  /// Number of the device, as CUDA counts them.
  int ordinal = 0;
  /// The process's number among the ranks of this machine, which take its devices in turn, from
  /// `ordinal` on.
  unsigned localRank = 0;
  /// Whether the steps of a plan are recorded once and then replayed as one CUDA graph.
  bool graph = true;
  /// False: as if NVIDIA's libraries refused all calls.
  bool libraries = true;
  /// Hears in one line why sums over ranks do not go through NCCL, and, a line a reason, which
  /// calls a library refused: launches of the plan run in their place. Called while contexts are
  /// made, and in the first run.
  std::function<void(std::string_view line)> warn = {};
};

/// Opens a CUDA device through libdlc_cuda.so, which is looked for beside libdlc.so (or the
/// program that has libdlc.a in it), in ../lib from there, and where the system's loader looks.
/// Fails with Unsupported, in one line, if the library, the driver or the device is missing or too
/// old.
DLC_API Result<std::shared_ptr<Device>> openCuda(const CudaOptions &options = {});

/// Any of them.
struct DeviceOptions {
  /// "cpu", "cuda" or "simt"; empty: what the module was compiled for.
  std::string name = {};
  /// As CpuOptions.
  unsigned threads = 0;
  /// How many threads can run at once; 0: as many as the process has cores and time for. Who asks
  /// for more is warned.
  unsigned threadsAtOnce = 0;
  /// As SimtOptions.
  uint64_t simtSeed = 0;
  /// As CudaOptions.
  bool cudaGraph = true, libraries = true;
};

/// Opens the device on which a module is to run. Fails with InvalidArgument for a name that is
/// none, and with Unsupported if the module was compiled for another device. `log` hears what
/// CudaOptions::warn does.
DLC_API Result<std::shared_ptr<Device>>
openDevice(const Module &module, const DeviceOptions &options = {}, const Log &log = {});
/// The device of that name; the CPU if there is none.
DLC_API Result<std::shared_ptr<Device>> openDevice(const DeviceOptions &options = {},
                                                   const Log &log = {});

/// The device's number as CUDA counts them; none of a device whose memory is the host's.
DLC_API std::optional<int> cudaOrdinal(const Device &device);

} // namespace dlc::runtime

#endif
