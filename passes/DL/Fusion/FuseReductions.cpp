//===- FuseReductions.cpp - reductions behind what makes their operand ------------------------===//
//
// Behind dl-choose, which has given every region its layouts and its code. A region of reductions
// joins the one that computes what they reduce, where its code can do so part by part, while what
// it has written lies in the cache:
//
//   %y = fused{ convolution }
//   %mean, %m2 = fused{ moments %y }
// ->
//   %y, %mean, %m2 = fused{ convolution; moments }
//
// The code stays what was chosen. Layouts and code are not chosen by what may join: it costs all of
// a region's candidates about the same.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "passes/DL/Fusion/JoinRegions.h"
#include "passes/DL/Memory/Buffers.h"
#include "passes/DL/Passes.h"
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

namespace {
class Rewriter {
public:
  Rewriter(Block &block, CandidateSource &source) : block(block), source(source) {}
  void run() {
    SmallVector<FusedOp> reductions(llvm::make_filter_range(block.getOps<FusedOp>(), onlyReduces));
    for (FusedOp fused : reductions)
      joinProducer(fused);
  }

private:
  void joinProducer(FusedOp reductions);
  FusedOp producerOf(FusedOp reductions);

  Block &block;
  CandidateSource &source;
};
} // namespace

/// The region, with an anchor that takes reductions, whose results `reductions` reads; null if
/// there is none.
FusedOp Rewriter::producerOf(FusedOp reductions) {
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

void Rewriter::joinProducer(FusedOp reductions) {
  FusedOp producer = producerOf(reductions);
  if (!producer || !reductions.getCandidateAttr() || needsThroughOthers(reductions, producer))
    return;
  FusedOp joined = joinRegions(producer, reductions, OfProducer::Stored);
  std::optional<Candidate> candidate = sameCode(source, joined, producer.getCandidateAttr());
  if (!candidate || candidate->seconds >= secondsOf(producer) + secondsOf(reductions)) {
    joined.erase();
    return;
  }
  keepChoice(producer, joined, *candidate, secondsOf(reductions));
  const unsigned first = producer.getNumResults();
  Operation *next = producer->getNextNode();
  reductions.replaceAllUsesWith(joined.getResults().drop_front(first));
  reductions.erase();
  producer.replaceAllUsesWith(joined.getResults().take_front(first));
  producer.erase();
  moveUsersBehind(joined, next);
}

namespace {
struct FuseReductions : PassWrapper<FuseReductions, OperationPass<EntryOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseReductions)

  explicit FuseReductions(std::shared_ptr<CandidateSource> source) : source(std::move(source)) {}
  StringRef getArgument() const override { return "dl-fuse-reductions"; }
  StringRef getDescription() const override {
    return "lets the code of a region reduce what it computes, where the target can";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    source->addDialects(registry);
  }
  void runOnOperation() override { Rewriter(getOperation().getBlock(), *source).run(); }

  std::shared_ptr<CandidateSource> source;
};
} // namespace

std::unique_ptr<Pass> dlc::dl::createFuseReductions(std::shared_ptr<CandidateSource> source) {
  return std::make_unique<FuseReductions>(std::move(source));
}
