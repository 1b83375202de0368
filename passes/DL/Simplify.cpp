//===- Simplify.cpp - folds, makes work smaller, drops dead ops -------------------------------===//
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
//   %s = dl.broadcast %v dims = [1] : tensor<20xf32> to tensor<64x20x24x24xf32>
//   %p = dl.multiply %x, %s
//   %y = dl.reduce sum %p axes = [0, 2, 3]
// ->
//   %r = dl.reduce sum %x axes = [0, 2, 3]
//   %y = dl.multiply %r, %v
//
// A factor that is the same for all terms of a sum leaves it, and so does a sign: what gradient
// rules add up for the mean of a norm is then the sum that its bias asks for as well.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLEntryOps.h"
#include "dialects/DL/DLIndexOps.h"
#include "dialects/DL/DLPoolingOps.h"
#include "dialects/DL/DLReductionOps.h"
#include "dialects/DL/TensorBuilder.h"
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

/// `factor` for each element of the sum if it is the same for all its terms; else null.
static Value factorOfSum(TensorBuilder b, ReduceOp sum, Value factor) {
  auto broadcast = factor.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  SmallVector<int64_t> dims;
  for (auto [axis, dim] : llvm::enumerate(broadcast.getDims())) {
    // Along an axis of size 1 it is the same too, but has an axis that the sum lacks.
    if (llvm::is_contained(sum.getAxes(), dim))
      return {};
    dims.push_back(dim - llvm::count_if(sum.getAxes(), [&](int64_t gone) { return gone < dim; }));
  }
  return b.broadcast(broadcast.getX(), b.typeOf(sum.getY()), dims);
}

/// sum(x * broadcast(v)) -> sum(x) * v, if x is there anyway or its product is for this sum only.
static LogicalResult moveFactorBehindSum(ReduceOp sum, PatternRewriter &rewriter) {
  auto product = sum.getX().getDefiningOp<MultiplyOp>();
  if (!product || sum.getKind() != ReduceKind::Sum)
    return failure();
  TensorBuilder b{rewriter, sum.getLoc()};
  for (unsigned i : {0, 1}) {
    Value x = product->getOperand(1 - i);
    if (!product->hasOneUse() && x.hasOneUse())
      continue;
    if (Value factor = factorOfSum(b, sum, product->getOperand(i))) {
      Value sums = b.reduce(ReduceKind::Sum, x, sum.getAxes());
      rewriter.replaceOp(sum, b.multiply(sums, factor));
      return success();
    }
  }
  return failure();
}

/// sum(-x) -> -sum(x)
static LogicalResult moveSignBehindSum(ReduceOp sum, PatternRewriter &rewriter) {
  auto negated = sum.getX().getDefiningOp<NegateOp>();
  if (!negated || !negated->hasOneUse() || sum.getKind() != ReduceKind::Sum)
    return failure();
  TensorBuilder b{rewriter, sum.getLoc()};
  rewriter.replaceOp(sum, b.negate(b.reduce(ReduceKind::Sum, negated.getX(), sum.getAxes())));
  return success();
}

namespace {
struct Simplify : dlc::dl::impl::SimplifyBase<Simplify> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet collected(context);
    collected.add(moveReluBehindPool);
    collected.add(moveFactorBehindSum);
    collected.add(moveSignBehindSum);
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
