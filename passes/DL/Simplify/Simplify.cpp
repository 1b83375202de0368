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
//   %r = dl.reshape %n : tensor<4x2x12xf32> to tensor<4x8x3xf32>
//   %y = dl.relu %r
// ->
//   %a = dl.relu %n
//   %y = dl.reshape %a : tensor<4x2x12xf32> to tensor<4x8x3xf32>
//
// No kernel reaches over a reshape, which costs nothing between kernels: an op of one operand goes
// in front of it, to what computes that, and one whose operands are reshaped goes behind the next.
//
//   %r = dl.gather %t, %i axis = 0 : tensor<65x64xf32>, tensor<2048xi32>
//   %y = dl.matmul %r, %w : tensor<2048x64xf32>, tensor<64x1024xf32>
// ->
//   %p = dl.matmul %t, %w : tensor<65x64xf32>, tensor<64x1024xf32>
//   %y = dl.gather %p, %i axis = 0 : tensor<65x1024xf32>, tensor<2048xi32>
//
// A product of rows that are looked up, each of them many times, is made once for each row of the
// table, and so are its gradients: those of the samples are added up first.
//
// What is widened and rounded to what it was stays as it is.
//
// A factor that is the same for all terms of a sum leaves it, and so does a sign: what gradient
// rules add up for the mean of a norm is then the sum that its bias asks for as well.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Precision/Precision.h"
#include "passes/DL/Simplify/DeadCode.h"

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

/// cast(cast(x)) -> x, where the inner one goes to a type that holds all numbers of x.
static LogicalResult dropWidening(CastOp cast, PatternRewriter &rewriter) {
  auto inner = cast.getX().getDefiningOp<CastOp>();
  if (!inner || inner.getX().getType() != cast.getType())
    return failure();
  auto narrow = dyn_cast<FloatType>(getElementTypeOrSelf(inner.getX())),
       wide = dyn_cast<FloatType>(getElementTypeOrSelf(inner));
  if (!narrow || !wide || narrow.getWidth() >= wide.getWidth())
    return failure();
  rewriter.replaceOp(cast, inner.getX());
  return success();
}

/// `op` on other operands, in their shape.
static Value cloneInShape(Operation *op, ValueRange operands, ArrayRef<int64_t> shape,
                          PatternRewriter &rewriter) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Operation *copy = rewriter.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(RankedTensorType::get(shape, type.getElementType()));
  return copy->getResult(0);
}

namespace {
/// f(reshape(x)) -> reshape(f(x)), where x is computed element by element and nothing else needs
/// it in the other shape.
struct MoveReshapeBehind : OpInterfaceRewritePattern<ElementwiseOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ElementwiseOp op, PatternRewriter &rewriter) const override {
    if (op->getNumOperands() != 1)
      return failure();
    auto reshape = op->getOperand(0).getDefiningOp<ReshapeOp>();
    if (!reshape || !reshape->hasOneUse() || !reshape.getX().hasOneUse() ||
        !reshape.getX().getDefiningOp<ElementwiseOp>())
      return failure();
    Value before = cloneInShape(op, reshape.getX(), reshape.getX().getType().getShape(), rewriter);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op->getResult(0).getType(), before);
    return success();
  }
};
} // namespace

/// Whether `value` is computed element by element from splats and what is reshaped, for one user.
static bool isOfReshaped(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  const unsigned deepest = 8;
  if (isa_and_nonnull<ReshapeOp>(op))
    return true;
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  if (constant)
    return isa<SplatElementsAttr>(constant.getValue());
  return isa_and_nonnull<ElementwiseOp>(op) && value.hasOneUse() && depth < deepest &&
         llvm::all_of(
             op->getOperands(), [=](Value operand) { return isOfReshaped(operand, depth + 1); });
}

/// What isOfReshaped, in another shape, all of it at once: one reshape of a part behind the other
/// would be moved back.
static Value buildInShape(Value value, ArrayRef<int64_t> shape, PatternRewriter &rewriter) {
  TensorBuilder b{rewriter, value.getLoc()};
  auto type = RankedTensorType::get(shape, b.typeOf(value).getElementType());
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    return b.reshape(reshape.getX(), type);
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return ConstantOp::create(rewriter, value.getLoc(),
                              cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  SmallVector<Value> operands;
  for (Value operand : value.getDefiningOp()->getOperands())
    operands.push_back(buildInShape(operand, shape, rewriter));
  return cloneInShape(value.getDefiningOp(), operands, shape, rewriter);
}

/// reshape(f(reshape(x), reshape(y))) -> f(x, y), in the shape of the outer one.
static LogicalResult moveReshapeInFront(ReshapeOp reshape, PatternRewriter &rewriter) {
  auto op = reshape.getX().getDefiningOp<ElementwiseOp>();
  if (!op || op->getNumOperands() == 0 || !isOfReshaped(reshape.getX(), 0))
    return failure();
  rewriter.replaceOp(reshape, buildInShape(reshape.getX(), reshape.getType().getShape(), rewriter));
  return success();
}

/// What looks up the rows of `x`, in whatever shape, in a table of rows; else null.
static GatherOp lookupOfRows(Value x) {
  if (auto reshape = x.getDefiningOp<ReshapeOp>())
    x = reshape.getX();
  auto gather = x.getDefiningOp<GatherOp>();
  return gather && gather.getX().getType().getRank() == 2 && gather.getAxis() == 0 ? gather
                                                                                   : GatherOp();
}

/// matmul(gather(table, i), w) -> gather(matmul(table, w), i), where rows are long enough that the
/// product is the work, and each is looked up twice or more on the average.
static LogicalResult moveLookupBehindProduct(MatmulOp product, PatternRewriter &rewriter) {
  const int64_t shortest = 16;
  GatherOp lookup = lookupOfRows(product.getA());
  if (!lookup || product.getTransposeA() || product.getA().getType().getRank() != 2)
    return failure();
  const int64_t count = lookup.getIndex().getType().getNumElements(),
                rows = lookup.getX().getType().getDimSize(0),
                length = lookup.getX().getType().getDimSize(1);
  if (product.getA().getType().getDimSize(1) != length || length < shortest || count < 2 * rows)
    return failure();
  Operation *before = product->getPrevNode();
  TensorBuilder b{rewriter, product.getLoc()};
  Value index = b.reshape(lookup.getIndex(), lookup.getIndex().getType().clone({count}));
  Value products = MatmulOp::create(rewriter, b.loc, lookup.getX(), product.getB(),
                                    /*transpose_a=*/false, product.getTransposeB());
  passTF32On(product, before, product);
  rewriter.replaceOpWithNewOp<GatherOp>(product, products, index, 0);
  return success();
}

namespace {
struct Simplify : dlc::dl::impl::SimplifyBase<Simplify> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet collected(context);
    collected.add(moveReluBehindPool);
    collected.add(moveFactorBehindSum);
    collected.add(moveSignBehindSum);
    collected.add(dropWidening);
    collected.add<MoveReshapeBehind>(context);
    collected.add(moveReshapeInFront);
    collected.add(moveLookupBehindProduct);
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
