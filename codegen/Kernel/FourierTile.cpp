//===- FourierTile.cpp - see FourierTile.h ----------------------------------------------------===//
#include "codegen/Kernel/FourierTile.h"
#include "codegen/Kernel/FourierCodelet.h"
#include "codegen/Kernel/MinimalFiltering.h"

using namespace dlc;
using namespace dlc::codegen;

/// Sizes of transforms: longer ones spill more than they save.
static const int64_t leastSize = 8, mostSize = 32;

int64_t FourierTile::points() const {
  return firstRealPoint() + realColumns() * FourierCodelet::half(high);
}

llvm::SmallVector<int64_t> codegen::fourierTiles(int64_t extent, int64_t taps) {
  if (taps == 1)
    return {1};
  llvm::SmallVector<int64_t> tiles;
  int64_t before = 0;
  for (int64_t size = leastSize; size <= mostSize; size += 2) {
    const int64_t outputs = size - taps + 1,
                  count = outputs > 0 ? llvm::divideCeil(extent, outputs) : 0;
    if (count != before && outputs > 0)
      tiles.push_back(outputs);
    before = count;
  }
  return tiles;
}

std::string codegen::fourierRefusal(const std::array<dl::WindowAxis, 3> &axes, int64_t groups) {
  const std::string refusal = transformRefusal(axes, groups);
  if (!refusal.empty())
    return refusal;
  if (axes[1].kernel * axes[2].kernel == 1)
    return filterText(axes) + " needs no transform";
  if (std::max(axes[1].kernel, axes[2].kernel) > 3 * mostSize / 4)
    return filterText(axes) + " leaves too little of a tile of " + std::to_string(mostSize) + "x" +
           std::to_string(mostSize);
  return "";
}
