// The device that a module runs on, by its name or by what the module was compiled for.
#include "dlc/device.h"
#include "dlc/module.h"
#include "runtime/Collectives/Transport.h"
#include "runtime/Core/Processors.h"
#include "runtime/Core/Support.h"
#include "runtime/Device/Device.h"

namespace dlc::runtime {

/// Where the module's training step is fast.
static dlc_target defaultTarget(const Module &module) {
  for (dlc_target target : {DLC_TARGET_CPU, DLC_TARGET_CUDA})
    if (module.compiledFor(target))
      return target;
  return DLC_TARGET_SIMT;
}

static Result<dlc_target> targetNamed(std::string_view name) {
  std::string known;
  for (dlc_target target : {DLC_TARGET_CPU, DLC_TARGET_CUDA, DLC_TARGET_SIMT}) {
    if (name == targetName(target))
      return target;
    addItem(known, targetName(target));
  }
  return invalid("no device '", excerpt(name), "'; there are: ", known);
}

static std::string tooManyThreads(unsigned asked, unsigned atOnce) {
  const Processors &own = processors();
  const std::string time =
      own.quota == 0 ? "" : concat(" and the cgroup allows the time of ", own.quota);
  return concat("`threads` ", asked, ": only ", atOnce,
                " can run at once, and wait for the others; the process may use ", own.cores.size(),
                own.cores.size() == 1 ? " core" : " cores", time);
}

static Result<std::shared_ptr<Device>> open(dlc_target target, const DeviceOptions &options,
                                            const Log &log) {
  const Log warn = log ? log : [](Severity, std::string_view) {};
  if (target == DLC_TARGET_CUDA)
    return openCuda({.localRank = localRank(),
                     .graph = options.cudaGraph,
                     .libraries = options.libraries,
                     .warn = [warn](auto line) { warn(Severity::Warning, line); }});
  const unsigned atOnce =
      options.threadsAtOnce == 0 ? processors().threads() : options.threadsAtOnce;
  if (options.threads > atOnce)
    warn(Severity::Warning, tooManyThreads(options.threads, atOnce));
  const unsigned count = options.threads == 0 ? atOnce : options.threads;
  if (target == DLC_TARGET_SIMT)
    return openSimt({.threads = count, .seed = options.simtSeed, .libraries = options.libraries});
  return openCpu({.threads = count});
}

Result<std::shared_ptr<Device>> openDevice(const Module &module, const DeviceOptions &options,
                                           const Log &log) {
  return guarded([&]() -> Result<std::shared_ptr<Device>> {
    dlc_target target = defaultTarget(module);
    if (!options.name.empty()) {
      DLC_TRY_ASSIGN(named, targetNamed(options.name));
      target = named;
    }
    DLC_TRY(module.requireTarget(target));
    return open(target, options, log);
  });
}

Result<std::shared_ptr<Device>> openDevice(const DeviceOptions &options, const Log &log) {
  return guarded([&]() -> Result<std::shared_ptr<Device>> {
    if (options.name.empty())
      return open(DLC_TARGET_CPU, options, log);
    DLC_TRY_ASSIGN(named, targetNamed(options.name));
    return open(named, options, log);
  });
}

std::optional<int> cudaOrdinal(const Device &device) { return device.ordinal(); }

} // namespace dlc::runtime
