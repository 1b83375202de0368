//===- CostModel.cpp - see CostModel.h --------------------------------------------------------===//
#include "codegen/CPU/CostModel.h"
#include <algorithm>

using namespace dlc::codegen;

/// Measured on the layers of AlexNet, VGG16 and ResNet-50, on Zen 3, 4 and 5, whose clocks run at
/// 2.8 to 4.4 GHz.
static double tileCyclesPerSecond(const CpuTarget &target) {
  if (target.vectorBytes == 64 && target.cpu == "znver4")
    return 1.6e9; // its ports take 64 bytes in two halves
  if (target.vectorBytes == 64 && target.cpu == "znver5")
    return 3.9e9;
  return 2.6e9;
}

MachineModel::MachineModel(const CpuTarget &target, int64_t elementBytes)
    : elementBytes(elementBytes), lanes(target.vectorBytes / elementBytes),
      vectorRegisters(target.vectorRegisters), l1Bytes(target.l1), l2Bytes(target.l2),
      cyclesPerSecond(tileCyclesPerSecond(target)) {}

int64_t dlc::codegen::maxTileRows(const MachineModel &machine, int64_t vectors) {
  return std::max<int64_t>(1, (machine.vectorRegisters - vectors - 1) / vectors);
}

double dlc::codegen::cyclesPerStep(int64_t rows, int64_t vectors) {
  // Intel's cores since Haswell and AMD's since Zen 2, at either vector width. Of their two loads a
  // cycle, misses of L1 leave some 1.6.
  const double fmaPerCycle = 2, loadsPerCycle = 1.6, issuePerCycle = 4, fmaLatency = 4;
  // Prefetch of each vector; half of a count, a branch and the load of an offset.
  const double overhead = double(vectors) + 1.5;
  double fmas = double(rows * vectors), loads = double(rows + vectors);
  return std::max({fmas / fmaPerCycle, loads / loadsPerCycle,
                   (fmas + loads + overhead) / issuePerCycle, fmaLatency});
}

double dlc::codegen::tileSeconds(double cycles, const MachineModel &machine) {
  return cycles / machine.cyclesPerSecond;
}

double dlc::codegen::memorySeconds(double bytes, const CpuTarget &target) {
  // Of one core while the others are as busy. A cache keeps a part of what is somewhat larger.
  const double fromCache = 50e9, fromMemory = 17e9, l3 = double(target.l3);
  const double kept = std::clamp((3 * l3 - bytes) / (2 * l3), 0.0, 1.0);
  return bytes * (kept / fromCache + (1 - kept) / fromMemory);
}

double dlc::codegen::trafficSeconds(const KernelSpec &spec, const Candidate &candidate,
                                    const CpuTarget &target) {
  return memorySeconds(double(spec.bytes() + 2 * candidate.workspaceBytes), target);
}

double dlc::codegen::hiddenSeconds(double seconds, double bytes, const CpuTarget &target) {
  const double share = 0.6; // measured on pointwise convolutions of ResNet-50
  return share * std::min(seconds, memorySeconds(bytes, target));
}
