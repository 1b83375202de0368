//===- CostModel.cpp - see CostModel.h --------------------------------------------------------===//
#include "codegen/CPU/CostModel.h"
#include <algorithm>

using namespace dlc::codegen;

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

double dlc::codegen::secondsOf(double cycles) {
  const double cyclesPerSecond = 2.5e9;
  return cycles / cyclesPerSecond;
}
