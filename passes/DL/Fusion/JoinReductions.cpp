//===- JoinReductions.cpp - reductions behind what makes their operand ------------------------===//
//
// A region of reductions joins the one that computes what they reduce, where its code can do so
// part by part, while what it has written lies in the cache:
//
//   %y = fused{ convolution }
//   %mean, %m2 = fused{ moments %y }
// ->
//   %y, %mean, %m2 = fused{ convolution; moments }
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "passes/DL/Fusion/Join.h"
#include "passes/DL/Memory/Buffers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// What is looked for
//===------------------------------------------------------------------------------------------===//

/// Whether the region's only anchors are reductions.
static bool onlyReduces(FusedOp fused) {
  auto anchors = bodyOf(fused).getOps<AnchorOp>();
  return !anchors.empty() &&
         llvm::all_of(anchors, [](AnchorOp anchor) { return isa<ReductionOp>(*anchor); });
}

/// Whether `consumer` needs `producer` also through another op.
static bool needsThroughOthers(FusedOp consumer, FusedOp producer) {
  llvm::SetVector<Operation *> before;
  auto add = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp())
        if (source == producer ? op != consumer : producer->isBeforeInBlock(source))
          before.insert(source);
  };
  add(consumer);
  for (size_t i = 0; i < before.size() && !before.contains(producer); ++i)
    add(before[i]);
  return before.contains(producer);
}

//===------------------------------------------------------------------------------------------===//
// Rewrites
//===------------------------------------------------------------------------------------------===//

/// The region, with an anchor that takes reductions, whose results `reductions` reads; null if
/// there is none.
static FusedOp producerOf(FusedOp reductions, CandidateSource &source) {
  for (Value operand : reductions->getOperands()) {
    auto producer = operand.getDefiningOp<FusedOp>();
    if (!producer || !producer.getCandidateAttr())
      continue;
    auto anchors = bodyOf(producer).getOps<AnchorOp>();
    if (llvm::any_of(anchors, [&](AnchorOp anchor) { return source.takesReductions(anchor); }))
      return producer;
  }
  return {};
}

//===------------------------------------------------------------------------------------------===//
// Rewrites
//===------------------------------------------------------------------------------------------===//

/// `joined` stands behind its operands; of the ops from `first` on to it those that need it follow.
static void moveUsersBehind(FusedOp joined, Operation *first) {
  llvm::SetVector<Operation *> users;
  for (Operation *op = first; op != joined; op = op->getNextNode())
    op->walk([&](Operation *inner) {
      if (llvm::any_of(inner->getOperands(), [&](Value operand) {
            Operation *source = operand.getDefiningOp();
            return source && (source == joined || users.contains(source));
          }))
        users.insert(op);
    });
  Operation *last = joined;
  for (Operation *user : users) {
    user->moveAfter(last);
    last = user;
  }
}

static void joinProducer(Joiner &joiner, FusedOp reductions) {
  FusedOp producer = producerOf(reductions, joiner.source);
  if (!producer || !reductions.getCandidateAttr() || needsThroughOthers(reductions, producer))
    return;
  FusedOp joined = joinRegions(producer, reductions, OfFirst::Stored);
  const double apart = joiner.secondsOf(reductions);
  if (!joiner.accept({{producer, joined, apart}}, apart))
    return;
  const unsigned first = producer.getNumResults();
  Operation *next = producer->getNextNode();
  reductions.replaceAllUsesWith(joined.getResults().drop_front(first));
  reductions.erase();
  producer.replaceAllUsesWith(joined.getResults().take_front(first));
  producer.erase();
  moveUsersBehind(joined, next);
}

void dlc::dl::joinReductions(Joiner &joiner) {
  SmallVector<FusedOp> reductions(
      llvm::make_filter_range(joiner.block.getOps<FusedOp>(), onlyReduces));
  for (FusedOp fused : reductions)
    joinProducer(joiner, fused);
}
