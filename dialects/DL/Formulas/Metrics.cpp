//===- Metrics.cpp - see Metrics.h ------------------------------------------------------------===//
#include "dialects/DL/Formulas/Metrics.h"
#include "dialects/DL/Formulas/Losses.h"
#include "dialects/DL/Formulas/Orders.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"

using namespace mlir;

namespace dlc::dl::formulas {

Value confusionPlaces(TensorBuilder &b, Value logits, Value labels, int64_t axis) {
  Value answer = b.castLike(largestIndex(b, logits, axis), labels);
  return b.add(b.scale(labels, double(b.typeOf(logits).getDimSize(axis))), answer);
}

Value scorePlaces(TensorBuilder &b, Value logits, Value target, int64_t bins,
                  std::optional<int64_t> channelAxis) {
  Type i32 = b.builder.getI32Type();
  Value score = b.sigmoid(toAccumulated(b, logits));
  Value bin = FloorOp::create(b.builder, b.loc, b.scale(score, double(bins)));
  bin = b.atMost(bin, double(bins - 1));
  // What is not a number is no number of a bin.
  bin = b.keepWhere(b.compare(Predicate::GE, score, b.splatLike(score, 0)), bin);
  Value place = b.cast(bin, i32);
  place = b.add(place, b.scale(b.cast(b.above(target, 0.5), i32), double(bins)));
  if (!channelAxis)
    return place;
  Value channel = b.iota(b.typeOf(place).getShape(), i32, *channelAxis);
  return b.add(place, b.scale(channel, double(2 * bins)));
}

Value meanArea(TensorBuilder &b, Value histograms) {
  RankedTensorType type = b.typeOf(histograms);
  const int64_t channels = type.getDimSize(0), bins = type.getDimSize(2);
  auto answers = [&](int64_t number) {
    Value slice = SliceOp::create(b.builder, b.loc, histograms, ArrayRef<int64_t>{0, number, 0},
                                  ArrayRef<int64_t>{channels, 1, bins}, ArrayRef<int64_t>{1, 1, 1});
    return b.reshape(slice, type.clone({channels, bins}));
  };
  auto sum = [&](Value x) { return b.reduce(ReduceKind::Sum, x, {1}); };
  Value no = answers(0), yes = answers(1);
  Value upTo = cumulativeSum(b, no, 1);
  Value below = b.subtract(upTo, b.scale(no, 0.5));
  Value area = sum(b.multiply(yes, below)), noes = sum(no), pairs = b.multiply(noes, sum(yes));
  Value counts = b.castLike(b.above(pairs, 0), pairs);
  Value each = b.divide(area, b.atLeast(pairs, 1));
  Value count = b.reduce(ReduceKind::Sum, counts, {0});
  Value total = b.reduce(ReduceKind::Sum, each, {0});
  Value mean = b.divide(total, b.atLeast(count, 1));
  Value isAny = b.above(count, 0);
  return b.select(isAny, mean, b.splatLike(mean, 0.5));
}

} // namespace dlc::dl::formulas
