//===- CostModel.cpp - see CostModel.h --------------------------------------------------------===//
#include "codegen/CPU/CostModel.h"
#include <algorithm>

using namespace dlc::codegen;

MachineModel::MachineModel(const CpuTarget &target, int64_t elementBytes)
    : CpuMachine(target.machine), elementBytes(elementBytes),
      lanes(target.vectorBytes / elementBytes), vectorRegisters(target.vectorRegisters) {}

double dlc::codegen::tileSeconds(double cycles, const MachineModel &machine) {
  return cycles / machine.tileCyclesPerSecond(4 * machine.lanes);
}

double dlc::codegen::memorySeconds(double bytes, const CpuTarget &target) {
  // A cache keeps a part of what is somewhat larger.
  const double l3 = double(target.machine.lastCacheBytes());
  const double kept = std::clamp((3 * l3 - bytes) / (2 * l3), 0.0, 1.0);
  return bytes * (kept / target.machine.l3BytesPerSecond +
                  (1 - kept) / target.machine.memoryBytesPerSecond);
}

double dlc::codegen::trafficSeconds(const KernelSpec &spec, const Candidate &candidate,
                                    const CpuTarget &target) {
  return memorySeconds(double(spec.bytes() + 2 * candidate.workspaceBytes), target);
}

double dlc::codegen::hiddenSeconds(double seconds, double bytes, const CpuTarget &target) {
  return target.machine.hiddenShare * std::min(seconds, memorySeconds(bytes, target));
}
