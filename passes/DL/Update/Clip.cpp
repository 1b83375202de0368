//===- Clip.cpp - limits on the gradients before the update -----------------------------------===//
#include "dialects/DL/TensorBuilder.h"
#include "passes/DL/Update/EntryUpdate.h"

using namespace mlir;
using namespace dlc::dl;

/// f32[]: the sum of the squares of all elements.
static Value sumOfSquares(TensorBuilder &b, Value x) {
  auto type = TensorBuilder::typeOf(x);
  Value squares = b.multiply(x, x);
  if (type.getRank() != 0)
    squares =
        b.reduce(ReduceKind::Sum, squares, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  Type single = RankedTensorType::get({}, b.builder.getF32Type());
  return squares.getType() == single
             ? squares
             : CastOp::create(b.builder, b.loc, single, squares).getResult();
}

/// What the gradients are multiplied by, so that a norm is not above the limit.
static Value factorOf(TensorBuilder &b, Value squares, Value limit) {
  Value norm = SqrtOp::create(b.builder, b.loc, squares);
  Value factor = b.divide(limit, b.add(norm, b.splatLike(norm, 1e-6)));
  return MinimumOp::create(b.builder, b.loc, factor, b.splatLike(factor, 1.0));
}

/// Each gradient by its own norm.
static void clipByParameterNorm(EntryUpdate &update, TensorBuilder &b, Value limit) {
  for (ParameterGroup &group : update.groups)
    for (UpdatedParameter &parameter : group.parameters) {
      Value g = parameter.gradient;
      Value factor = b.castLike(factorOf(b, sumOfSquares(b, g), limit), g);
      parameter.gradient = b.multiply(g, b.broadcast(factor, TensorBuilder::typeOf(g), {}));
    }
}

/// The factor of all gradients from their common norm; null where there are none.
static Value factorOfAll(EntryUpdate &update, TensorBuilder &b, Value limit) {
  Value total;
  for (const ParameterGroup &group : update.groups)
    for (Value gradient : group.gradients()) {
      Value squares = sumOfSquares(b, gradient);
      total = total ? b.add(total, squares) : squares;
    }
  return total ? factorOf(b, total, limit) : Value();
}

void dlc::dl::clipGradients(EntryUpdate &update) {
  ClipAttr clip = update.entry.getClipAttr();
  if (!clip)
    return;
  Value limit = update.scalar(update.prefix() + "clip.limit", clip.getLimit().getValueAsDouble());
  TensorBuilder b{update.builder, update.place("clip")};
  switch (clip.getKind()) {
  case ClipKind::Value:
    update.clip = {limit, /*isLimit=*/true};
    break;
  case ClipKind::ParameterNorm:
    clipByParameterNorm(update, b, limit);
    break;
  case ClipKind::GlobalNorm:
    update.clip = {factorOfAll(update, b, limit)};
    break;
  }
}
