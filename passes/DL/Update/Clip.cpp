//===- Clip.cpp - limits on the gradients before the update -----------------------------------===//
//
// Limits of a norm give what is not finite to the runtime, which ends the run: a factor from it
// would be 0 or not a number, and nothing would be learnt. The limit of each element needs no pass
// over the gradients of its own, and so has no such sum: there an infinite element is made not a
// number, as the parameter and the next loss then are.
//
//===------------------------------------------------------------------------------------------===//
#include "passes/DL/Update/EntryUpdate.h"
#include "passes/DL/Update/MultiTensorBuilder.h"
#include "passes/DL/Update/Norm.h"

using namespace mlir;
using namespace dlc::dl;

Value dlc::dl::clipFactor(TensorBuilder &b, Value norm, Value limit) {
  Value factor = b.atMost(b.divide(b.castLike(limit, norm), b.shift(norm, 1e-6)), 1);
  return b.keepWhere(isFinite(b, norm), factor);
}

/// The sums of a group's squares, see Norm.h, all by one op.
static SmallVector<Value> sumsOfSquares(EntryUpdate &update, TensorBuilder &b,
                                        const ParameterGroup &group) {
  MultiTensorBuilder function(update.builder, b.loc);
  Value g = addGradients(update, function, group);
  TensorBuilder body{function.body(), b.loc};
  SmallVector<Value> squares = squaresForNorm(body, g, /*isWide=*/update.real.isF64());
  MultiTensorOp op = function.finish({}, squares);
  SmallVector<Value> totals;
  for (size_t number = 0; number < squares.size(); ++number)
    totals.push_back(b.reduce(ReduceKind::Sum, op.getSum(int64_t(number)), {0}));
  return totals;
}

/// Those of all groups together, see Norm.h; none where there are no gradients.
static SmallVector<Value> sumsOfAll(EntryUpdate &update, TensorBuilder &b) {
  SmallVector<Value> totals;
  for (const ParameterGroup &group : update.groups) {
    SmallVector<Value> squares = sumsOfSquares(update, b, group);
    if (!update.lossScale)
      update.check(leastOfSquares(squares));
    if (totals.empty())
      totals = squares;
    else
      for (auto [total, square] : llvm::zip_equal(totals, squares))
        total = b.add(total, square);
  }
  return totals;
}

void dlc::dl::clipGradients(EntryUpdate &update) {
  ClipAttr clip = update.entry.getClipAttr();
  TensorBuilder b{update.builder, update.place("clip")};
  if (clip)
    update.clip = {
        update.scalar(update.prefix() + "clip.limit", clip.getLimit().getValueAsDouble()),
        clip.getKind()};
  const bool isOfAll = clip && clip.getKind() == ClipKind::GlobalNorm;
  if (!isOfAll && !update.lossScale)
    return;
  SmallVector<Value> totals = sumsOfAll(update, b);
  if (update.lossScale && !totals.empty())
    update.squares = leastOfSquares(totals);
  if (isOfAll)
    update.clip.value =
        totals.empty() ? Value() : clipFactor(b, normOfSums(b, totals), update.clip.value);
}
