//===- Simplify.cpp - folds, moves relu behind max_pool, drops dead ops -----------------------===//
//
//   %a = dl.relu %x : tensor<64x20x24x24xf32>
//   %y = dl.max_pool %a ... -> tensor<64x20x12x12xf32>
// ->
//   %p = dl.max_pool %x ... -> tensor<64x20x12x12xf32>
//   %y = dl.relu %p : tensor<64x20x12x12xf32>
//
// relu is monotone, so the two commute; behind the pool it works on a quarter of the elements, and
// only the pooled tensor is saved for the backward pass. An entry with dl.gradient stays as it is:
// a fold makes one value of two, x and x * 1, which the gradient by one of them tells apart.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLNetworkOps.h"
#include "dialects/DL/DLProgramOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/DL/DeadCode.h"
#include "passes/DL/Passes.h"

namespace dlc::dl {
#define GEN_PASS_DEF_SIMPLIFY
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

/// Every window holds an element of x: a window of padding only would give -infinity, and 0 behind
/// a relu. Without dilation the padding is smaller than the kernel, and without padding a window
/// starts inside.
static bool windowsHoldElements(MaxPoolOp pool) {
  auto isOne = [](int64_t dilation) { return dilation == 1; };
  auto isZero = [](int64_t padding) { return padding == 0; };
  return llvm::all_of(pool.getDilations(), isOne) || llvm::all_of(pool.getPadding(), isZero);
}

/// max_pool(relu(x)) -> relu(max_pool(x)). The index of a pool before relu is another one where all
/// elements are negative, so a pool that has an index stays.
static LogicalResult moveReluBehindPool(MaxPoolOp pool, PatternRewriter &rewriter) {
  auto relu = pool.getX().getDefiningOp<ReluOp>();
  if (!relu || !relu->hasOneUse() || pool.getIndex() || !windowsHoldElements(pool))
    return failure();
  auto pooled = MaxPoolOp::create(rewriter, pool.getLoc(), pool->getResultTypes(),
                                  ValueRange(relu.getX()), pool->getAttrs());
  rewriter.replaceOp(pool, ReluOp::create(rewriter, relu.getLoc(), pooled.getY()).getResult());
  return success();
}

namespace {
struct Simplify : dlc::dl::impl::SimplifyBase<Simplify> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet collected(context);
    collected.add(moveReluBehindPool);
    patterns = std::move(collected);
    return success();
  }

  void runOnOperation() override {
    if (!getOperation().getBlock().getOps<GradientOp>().empty())
      return;
    if (failed(applyPatternsGreedily(getOperation(), patterns)))
      return signalPassFailure();
    eraseDeadOps(getOperation());
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
