//===- Distribute.cpp - what several ranks exchange, on the ops that exchange it --------------===//
//
// In a data-parallel module:
//
//   dl.return loss(%loss) weight(%n)                    %total = dl.all_reduce sum %n
//                                                  ->   %share = %loss * %n / %total
//                                                       dl.return loss(%share)
//
// and an entry with updates says how the gradients of all ranks become one. In any other module
// ops lose what they would do over ranks. Behind it an entry means the same in any module.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/Program/Program.h"
#include "passes/DL/Passes.h"

namespace dlc::dl {
#define GEN_PASS_DEF_DISTRIBUTE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc;
using namespace dlc::dl;

/// A loss that counts `weight` among the ranks: times this rank's part of all weights, so that
/// gradients are summed. 1 with one rank.
static Value shareOfRanks(OpBuilder &builder, Value loss, Value weight) {
  TensorBuilder b{builder, stageLoc(loss.getLoc(), "share")};
  Value total = b.sumOverRanks(weight);
  Value share = b.divide(weight, b.aboveZeroOrOne(total));
  return b.multiply(loss, b.castLike(share, loss));
}

/// The sum of the losses, each as this rank's share of all, in the place of losses and weights.
static void shareLosses(ReturnOp end) {
  OpBuilder builder(end);
  Value whole;
  for (auto [loss, weight] : llvm::zip_equal(end.getLosses(), end.getWeights())) {
    Value part = shareOfRanks(builder, loss, weight);
    whole = whole ? TensorBuilder{builder, stageLoc(loss.getLoc(), "sum")}.add(whole, part) : part;
  }
  end.getLossesMutable().assign(whole);
  end.getWeightsMutable().clear();
}

static void distributeUpdates(EntryOp entry) {
  ReturnOp end = entry.getReturn();
  const bool isWeighed = !end.getWeights().empty();
  // Where gradients accumulate, the update divides what all ranks have gathered.
  if (isWeighed && !end.getLosses().empty() && !entry.getAccumulate())
    shareLosses(end);
  entry.setAcrossRanks(isWeighed ? AcrossRanks::Sum : AcrossRanks::Mean);
}

/// Statistics are those of the rank's own batch.
static void keepStatisticsApart(EntryOp entry) {
  for (Operation &op : entry.getBlock())
    if (auto norm = dyn_cast<BatchNormOp>(op))
      norm.getRanksMutable().clear();
    else if (auto backward = dyn_cast<BatchNormBackwardOp>(op))
      backward.getRanksMutable().clear();
}

namespace {
struct Distribute : dlc::dl::impl::DistributeBase<Distribute> {
  void runOnOperation() override {
    const bool isDataParallel = getOperation()->hasAttr(program::dataParallelName);
    for (EntryOp entry : getOperation().getOps<EntryOp>())
      if (!isDataParallel)
        keepStatisticsApart(entry);
      else if (entry.getUpdates())
        distributeUpdates(entry);
  }
};
} // namespace
