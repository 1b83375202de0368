// See CostModel.h.
#include "codegen/CPU/CostModel.h"

#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace dlc::codegen;

MachineModel MachineModel::forFeatures(llvm::StringRef features) {
  llvm::SmallVector<llvm::StringRef> list;
  features.split(list, ',', -1, false);
  MachineModel model;
  if (llvm::is_contained(list, "+avx512f")) {
    // Every server core with AVX-512 since Skylake has at least 1 MiB of L2.
    model.lanes = 16;
    model.vectorRegisters = 32;
    model.l2Bytes = 1 << 20;
  } else if (!llvm::is_contained(list, "+avx2")) {
    model.lanes = 4;
  }
  return model;
}

int64_t dlc::codegen::maxTileRows(const MachineModel &machine, int64_t vectors) {
  return std::max<int64_t>(1, (machine.vectorRegisters - vectors - 1) / vectors);
}

double dlc::codegen::cyclesPerStep(const MachineModel &machine, RegisterTile tile) {
  double fmas = double(tile.rows * tile.vectors), loads = double(tile.rows + tile.vectors);
  const double loopOverhead = 3; // step of B, count and branch, load of A's offset
  return std::max({fmas / machine.fmaPerCycle, loads / machine.loadsPerCycle,
                   (fmas + loads + loopOverhead) / machine.issuePerCycle,
                   double(machine.fmaLatency)});
}
