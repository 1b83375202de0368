//===- Fuse.cpp - groups ops into dl.fused regions, each of which becomes one kernel ----------===//
//
//   %0 = dl.convolution %x, %w ...                  %y = dl.fused(%x, %w, %b) {
//   %1 = dl.broadcast %b dims = [1] ...             ^bb0(%x, %w, %b):
//   %2 = dl.add %0, %1                        ->      %0 = dl.convolution %x, %w ...
//   %y = dl.relu %2                                   ...
//                                                     dl.yield %3 }
//
// FusionGraph decides what belongs together; here regions are built. No expensive op is computed
// twice: a value with several users is stored, only ops that cost less than the access they save
// are recomputed.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/Fusion/FusionGraph.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Schedule/Order.h"

namespace dlc::dl {
#define GEN_PASS_DEF_FUSE
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

namespace {

/// Builds the region of one group, in front of the group's last op.
class RegionBuilder {
public:
  RegionBuilder(const FusionGraph &graph, ArrayRef<Operation *> group)
      : graph(graph), group(group) {
    auto isAnchor = [](Operation *op) { return !FusionGraph::isElementwise(op); };
    auto anchor = llvm::find_if(group, isAnchor);
    first = anchor != group.end() ? *anchor : group.front();
  }

  FusedOp build();

private:
  Location location() const;
  Value inside(Value value);
  void clone(Operation *op);

  const FusionGraph &graph;
  ArrayRef<Operation *> group;
  /// The anchor, with what it depends on, comes first: equal kernels then have equal operands.
  Operation *first = nullptr;
  Block *body = nullptr;
  SmallVector<Value> operands;
  IRMapping mapping;
};

} // namespace

/// The first op's place and name, else those of another op that has a name, else the first op's
/// mnemonic as name.
Location RegionBuilder::location() const {
  if (!qualifiedName(first->getLoc()).empty())
    return first->getLoc();
  for (Operation *op : group)
    if (!qualifiedName(op->getLoc()).empty())
      return op->getLoc();
  StringRef mnemonic = first->getName().stripDialect();
  return NameLoc::get(StringAttr::get(first->getContext(), mnemonic), first->getLoc());
}

/// `value` within the region: computed there, recomputed there, or an operand.
Value RegionBuilder::inside(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (op && (graph.isRecomputed(op) || llvm::is_contained(group, op))) {
    clone(op);
    return mapping.lookup(value);
  }
  operands.push_back(value);
  Value argument = body->addArgument(value.getType(), value.getLoc());
  mapping.map(value, argument);
  return argument;
}

/// Clones `op`, behind what it depends on.
void RegionBuilder::clone(Operation *op) {
  for (Value operand : op->getOperands())
    inside(operand);
  body->push_back(op->clone(mapping));
  for (auto [from, to] : llvm::zip_equal(op->getResults(), body->back().getResults()))
    mapping.map(from, to);
}

FusedOp RegionBuilder::build() {
  Region region;
  body = &region.emplaceBlock();
  clone(first);
  for (Operation *op : group)
    if (!mapping.contains(op->getResult(0)))
      clone(op);
  SmallVector<Value> escaping, yielded;
  for (Operation *op : group)
    for (Value result : op->getResults())
      if (graph.escapes(result)) {
        escaping.push_back(result);
        yielded.push_back(mapping.lookup(result));
      }
  Location loc = location();
  OpBuilder builder(group.back());
  auto fused = FusedOp::create(builder, loc, TypeRange(ValueRange(escaping)), operands);
  fused.getBody().takeBody(region);
  builder.setInsertionPointToEnd(&fused.getBody().front());
  YieldOp::create(builder, loc, yielded);
  for (auto [from, to] : llvm::zip_equal(escaping, fused.getResults()))
    from.replaceAllUsesWith(to);
  return fused;
}

/// Where a splat or an iota is needed as a tensor (a result, the optimizer's operand), a copy of it
/// serves those uses, so that the others can go on recomputing it.
static void separateStoredConstants(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (FusionGraph::isOutside(&op) || op.getNumOperands() != 0)
      continue;
    auto isStored = [](OpOperand &use) { return FusionGraph::isOutside(use.getOwner()); };
    if (llvm::none_of(op.getUses(), isStored) || llvm::all_of(op.getUses(), isStored))
      continue;
    OpBuilder builder(&op);
    op.getResult(0).replaceUsesWithIf(builder.clone(op)->getResult(0), isStored);
  }
}

namespace {
struct Fuse : dlc::dl::impl::FuseBase<Fuse> {
  using FuseBase::FuseBase;
  Fuse(FuseOptions options, std::shared_ptr<CandidateSource> target)
      : FuseBase(std::move(options)), target(std::move(target)) {}

  void runOnOperation() override {
    Block &block = getOperation().getBlock();
    if (enable)
      separateStoredConstants(block);
    FusionGraph graph(block, /*recompute=*/enable, target.get());
    if (enable) {
      graph.fuseChains();
      graph.fuseBehindProducers();
      graph.moveToOperands();
      graph.fuseBeforeAnchors();
      graph.fuseRows();
      graph.fuseSiblingReductions();
      graph.fuseStoresBesideReductions();
    }
    SmallVector<Operation *> replaced;
    for (Operation &op : block)
      if (!FusionGraph::isOutside(&op))
        replaced.push_back(&op);
    // Users look operands up in the graph's ops, so those stay until the last region is built.
    for (ArrayRef<Operation *> group : graph.groups())
      RegionBuilder(graph, group).build();
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    sortByOperands(block);
  }

  std::shared_ptr<CandidateSource> target;
};
} // namespace

std::unique_ptr<Pass> dlc::dl::createFuse(FuseOptions options,
                                          std::shared_ptr<CandidateSource> target) {
  return std::make_unique<Fuse>(std::move(options), std::move(target));
}
