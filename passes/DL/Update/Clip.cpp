//===- Clip.cpp - limits on the gradients before the update -----------------------------------===//
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"

using namespace mlir;
using namespace dlc::dl;

Value dlc::dl::squareForSum(TensorBuilder &b, Value x) {
  Type element = getElementTypeOrSelf(x);
  if (element.getIntOrFloatBitWidth() < 32)
    x = CastOp::create(b.builder, b.loc, RankedTensorType::get({}, b.builder.getF32Type()), x);
  return b.multiply(x, x);
}

Value dlc::dl::clipFactor(TensorBuilder &b, Value norm, Value limit) {
  return b.atMost(b.divide(limit, b.shift(norm, 1e-6)), 1);
}

/// The sum of the squares of a group's gradients, all by one op, in the type of the
/// limit.
static Value sumOfSquares(EntryUpdate &update, TensorBuilder &b, const ParameterGroup &group) {
  MultiTensorBuilder function(update.builder, b.loc);
  Value g = addGradients(update, function, group);
  TensorBuilder body{function.body(), b.loc};
  Value sums = function.finish({}, squareForSum(body, g)).getSum(0);
  Value total = b.reduce(ReduceKind::Sum, sums, {0});
  return b.castLike(total, update.clip.value);
}

/// The factor of all gradients from their common norm; null where there are none.
static Value factorOfAll(EntryUpdate &update, TensorBuilder &b) {
  Value total;
  for (const ParameterGroup &group : update.groups) {
    Value squares = sumOfSquares(update, b, group);
    total = total ? b.add(total, squares) : squares;
  }
  return total ? clipFactor(b, b.sqrt(total), update.clip.value) : Value();
}

void dlc::dl::clipGradients(EntryUpdate &update) {
  ClipAttr clip = update.entry.getClipAttr();
  if (!clip)
    return;
  TensorBuilder b{update.builder, update.place("clip")};
  update.clip = {update.scalar(update.prefix() + "clip.limit", clip.getLimit().getValueAsDouble()),
                 clip.getKind()};
  if (clip.getKind() == ClipKind::GlobalNorm)
    update.clip.value = factorOfAll(update, b);
}
