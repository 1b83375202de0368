//===- Norm.cpp - norms that neither overflow nor vanish --------------------------------------===//
#include "passes/DL/Update/Norm.h"

using namespace mlir;
using namespace dlc::dl;

/// By which elements of f64 are made smaller and larger.
static constexpr double large = 0x1p600, small = 0x1p-600;
/// Between these the squares as they are are good: none that counts has vanished, none is infinite.
static constexpr double leastGood = 0x1p-900, mostGood = 0x1p1000;

static Value square(TensorBuilder &b, Value x) { return b.multiply(x, x); }

SmallVector<Value> dlc::dl::squaresForNorm(TensorBuilder &b, Value x, bool isWide) {
  x = b.cast(x, b.builder.getF64Type());
  if (!isWide)
    return {square(b, x)};
  return {square(b, x), square(b, b.scale(x, large)), square(b, b.scale(x, small))};
}

Value dlc::dl::normOfSums(TensorBuilder &b, ValueRange sums) {
  Value norm = b.sqrt(sums[0]);
  if (sums.size() == 1)
    return norm;
  Value isSmall = b.compare(Predicate::LT, sums[0], b.splatLike(sums[0], leastGood));
  norm = b.select(isSmall, b.scale(b.sqrt(sums[1]), small), norm);
  return b.select(b.above(sums[0], mostGood), b.scale(b.sqrt(sums[2]), large), norm);
}
