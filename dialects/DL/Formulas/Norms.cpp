//===- Norms.cpp - see Norms.h ----------------------------------------------------------------===//
#include "dialects/DL/Formulas/Norms.h"

using namespace mlir;

namespace dlc::dl::formulas {

/// An unbiased variance of n elements, which n / (n - 1) makes of a variance, times this is one of
/// the elements of 1 / `ranks` ranks: 1 with one rank.
static Value unbiasedOfAll(TensorBuilder &b, Value ranks, Value like, double n) {
  Value each = b.broadcast(b.castLike(ranks, like), b.typeOf(like), {});
  Value numerator = b.splatLike(like, n - 1);
  return b.divide(numerator, b.subtract(b.splatLike(like, n), each));
}

Value runningMean(TensorBuilder &b, Value running, Value now, double momentum) {
  Value added = b.scale(now, momentum);
  return b.add(b.scale(running, 1 - momentum), added);
}

Value runningVariance(TensorBuilder &b, Value running, Value now, double momentum, int64_t count,
                      Value ranks) {
  const double n = double(count);
  Value added = b.scale(now, momentum * (n / (n - 1)));
  if (ranks)
    added = b.multiply(added, unbiasedOfAll(b, ranks, added, n));
  return b.add(b.scale(running, 1 - momentum), added);
}

} // namespace dlc::dl::formulas
