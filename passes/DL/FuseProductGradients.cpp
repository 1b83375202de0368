//===- FuseProductGradients.cpp - a linear layer's gradients in the epilogues of products -----===//
//
// Behind dl-fuse, for products that a library computes. Three rewrites, for matrices of f32 only,
// each to what is one call of cuBLASLt:
//
//   %y = fused{ matmul; bias; relu }
//   %dx = fused{ matmul; select(%y > 0) }
// ->
//   %y, %bits = fused{ matmul; bias; relu; pack_bits(relu > 0) }
//   %dx = fused{ matmul; select(unpack_bits(%bits)) }
//
//   %dx = fused{ matmul; select(unpack_bits(%bits)) }
//   %db = fused{ reduce sum %dx axes = [0] }
// ->
//   %dx, %db = fused{ matmul; select(unpack_bits(%bits)); reduce sum }
//
//   %db = fused{ reduce sum %dy axes = [0] }
//   %dw = fused{ matmul(%dy^T, %x) }
// ->
//   %dw, %db = fused{ matmul(%dy^T, %x); reduce sum %dy }
//
// The last also for a weight stored the other way round, matmul(%x^T, %dy).
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Folding.h"
#include "dialects/DL/Slice.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "passes/DL/Passes.h"

namespace dlc::dl {
#define GEN_PASS_DEF_FUSEPRODUCTGRADIENTS
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// What is looked for
//===------------------------------------------------------------------------------------------===//

/// Whether cuBLASLt can read or write it: a matrix of f32, row-major and not empty.
static bool isPlainMatrix(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 2 && type.getElementType().isF32() && !type.getEncoding() &&
         type.getNumElements() != 0;
}

static Block &bodyOf(FusedOp fused) { return fused.getBody().front(); }

/// What becomes the region's one result; null if it has several.
static Value yieldedBy(FusedOp fused) {
  return fused.getNumResults() == 1 ? bodyOf(fused).getTerminator()->getOperand(0) : Value();
}

/// `value` as the product of two of its region's arguments.
static MatmulOp asProduct(Value value) {
  auto matmul = value.getDefiningOp<MatmulOp>();
  return matmul && isa<BlockArgument>(matmul.getA()) && isa<BlockArgument>(matmul.getB()) &&
                 isPlainMatrix(matmul.getA()) && isPlainMatrix(matmul.getB())
             ? matmul
             : MatmulOp();
}

/// `value` without the addition of a bias to each row. The bias is an argument, and nothing else
/// reads what it is added to.
static Value withoutBias(Value value) {
  auto sum = value.getDefiningOp<AddOp>();
  if (!sum)
    return value;
  for (auto [product, other] : {std::pair(sum.getA(), sum.getB()), {sum.getB(), sum.getA()}}) {
    auto bias = other.getDefiningOp<BroadcastOp>();
    if (bias && isa<BlockArgument>(bias.getX()) && bias.getDims() == ArrayRef<int64_t>{1} &&
        cast<RankedTensorType>(bias.getX().getType()).getDimSize(0) ==
            bias.getY().getType().getDimSize(1) &&
        product.hasOneUse())
      return product;
  }
  return value;
}

/// The relu of a region that is a product, perhaps a bias, and a relu.
static ReluOp matchForward(FusedOp fused) {
  Value yielded = yieldedBy(fused);
  auto relu = yielded ? yielded.getDefiningOp<ReluOp>() : ReluOp();
  return relu && relu.getX().hasOneUse() && asProduct(withoutBias(relu.getX())) ? relu : ReluOp();
}

/// The last op of a region that is a product, 0 where a condition does not hold.
static SelectOp matchMasked(FusedOp fused) {
  Value yielded = yieldedBy(fused);
  auto select = yielded ? yielded.getDefiningOp<SelectOp>() : SelectOp();
  return select && select.getA().hasOneUse() && asProduct(select.getA()) &&
                 isSplatOf(select.getB(), 0)
             ? select
             : SelectOp();
}

/// The reduction of a region that sums the rows of its one operand.
static ReduceOp matchRowSums(FusedOp fused) {
  Value yielded = yieldedBy(fused);
  auto reduce = yielded ? yielded.getDefiningOp<ReduceOp>() : ReduceOp();
  return reduce && reduce.getKind() == ReduceKind::Sum &&
                 reduce.getAxes() == ArrayRef<int64_t>{0} && isa<BlockArgument>(reduce.getX()) &&
                 isPlainMatrix(reduce.getX())
             ? reduce
             : ReduceOp();
}

/// The operand of `fused` that its region knows as `argument`.
static Value operandOf(FusedOp fused, Value argument) {
  return fused.getOperand(cast<BlockArgument>(argument).getArgNumber());
}

//===------------------------------------------------------------------------------------------===//
// Rewrites
//===------------------------------------------------------------------------------------------===//

/// Puts an op with one more result, `yielded` of its region, in the place of `fused`.
static Value addResult(FusedOp fused, Value yielded) {
  OpBuilder builder(fused);
  SmallVector<Type> types(fused.getResultTypes());
  types.push_back(yielded.getType());
  bodyOf(fused).getTerminator()->insertOperands(types.size() - 1, yielded);
  auto wider = FusedOp::create(builder, fused.getLoc(), types, fused.getOperands());
  wider->setDiscardableAttrs(fused->getDiscardableAttrDictionary());
  wider.getBody().takeBody(fused.getBody());
  fused.replaceAllUsesWith(wider.getResults().drop_back());
  fused.erase();
  return wider.getResults().back();
}

namespace {
class Rewriter {
public:
  explicit Rewriter(Block &block) : block(block) {}
  void run() {
    // A relu's product stands before those that it masks, so what is replaced has been visited.
    for (FusedOp fused : llvm::to_vector(block.getOps<FusedOp>()))
      maskByBits(fused);
    // Collected first: joining replaces products, but no sums.
    SmallVector<FusedOp> sums(llvm::make_filter_range(block.getOps<FusedOp>(), matchRowSums));
    for (FusedOp fused : sums)
      joinProduct(fused, matchRowSums(fused));
    // Sums may now be computed behind ops that read them.
    sortTopologically(&block);
  }

private:
  void maskByBits(FusedOp fused);
  Value bitsOf(OpResult relu);
  void joinProduct(FusedOp sums, ReduceOp reduce);
  void join(FusedOp sums, ReduceOp reduce, FusedOp product, Value summed);

  Block &block;
  /// Of the value of a relu: its bits, so that they are computed once.
  llvm::DenseMap<Value, Value> bits;
};
} // namespace

/// The bits of a forward product's relu, as a further result of its region.
Value Rewriter::bitsOf(OpResult relu) {
  if (Value known = bits.lookup(relu))
    return known;
  auto forward = cast<FusedOp>(relu.getOwner());
  OpBuilder builder(bodyOf(forward).getTerminator());
  ReluOp inner = matchForward(forward);
  Value zero = ConstantOp::createSplat(builder, inner.getLoc(), inner.getType(), 0);
  Value positive = CompareOp::create(builder, inner.getLoc(), Predicate::GT, inner.getY(), zero);
  Value packed = addResult(forward, PackBitsOp::create(builder, inner.getLoc(), positive));
  return bits[packed.getDefiningOp()->getResult(0)] = packed;
}

/// Lets a product that is masked by a forward product's relu read its bits.
void Rewriter::maskByBits(FusedOp fused) {
  SelectOp select = matchMasked(fused);
  auto compare = select ? select.getCondition().getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || compare.getPredicate() != Predicate::GT || !isa<BlockArgument>(compare.getA()) ||
      !isSplatOf(compare.getB(), 0))
    return;
  auto relu = dyn_cast<OpResult>(operandOf(fused, compare.getA()));
  auto forward = relu ? dyn_cast<FusedOp>(relu.getOwner()) : FusedOp();
  // A region that has its bits already has two results.
  if (!forward || (!bits.contains(relu) && !matchForward(forward)))
    return;
  Value packed = bitsOf(relu);
  fused.getOperandsMutable().append(packed);
  Value argument = bodyOf(fused).addArgument(packed.getType(), packed.getLoc());
  OpBuilder builder(compare);
  compare.replaceAllUsesWith(
      UnpackBitsOp::create(builder, compare.getLoc(), compare.getType(), argument).getResult());
  auto wholeRelu = cast<BlockArgument>(compare.getA());
  compare.erase();
  if (wholeRelu.use_empty()) {
    fused.getOperandsMutable().erase(wholeRelu.getArgNumber());
    bodyOf(fused).eraseArgument(wholeRelu.getArgNumber());
  }
  for (Operation &op : llvm::make_early_inc_range(bodyOf(fused)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Whether `op` needs a result of `other`.
static bool dependsOn(Operation *op, Operation *other) {
  return llvm::any_of(backwardSlice(op->getOperands()),
                      [&](Value value) { return value.getDefiningOp() == other; });
}

void Rewriter::join(FusedOp sums, ReduceOp reduce, FusedOp product, Value summed) {
  OpBuilder builder(bodyOf(product).getTerminator());
  Value inner =
      ReduceOp::create(builder, reduce.getLoc(), ReduceKind::Sum, summed, reduce.getAxes());
  sums.getResult(0).replaceAllUsesWith(addResult(product, inner));
  sums.erase();
}

/// The sums of rows join the masked product that computes what they sum, else a product that reads
/// it along its rows.
void Rewriter::joinProduct(FusedOp sums, ReduceOp reduce) {
  Value summed = operandOf(sums, reduce.getX());
  if (auto masked = summed.getDefiningOp<FusedOp>())
    if (SelectOp select = matchMasked(masked);
        select && select.getCondition().getDefiningOp<UnpackBitsOp>())
      return join(sums, reduce, masked, select);
  for (FusedOp product : block.getOps<FusedOp>()) {
    Value yielded = yieldedBy(product);
    MatmulOp matmul = yielded ? asProduct(yielded) : MatmulOp();
    if (!matmul)
      continue;
    bool isA = matmul.getTransposeA() && operandOf(product, matmul.getA()) == summed;
    bool isB = !matmul.getTransposeB() && operandOf(product, matmul.getB()) == summed;
    if ((isA || isB) && !dependsOn(product, sums))
      return join(sums, reduce, product, isA ? matmul.getA() : matmul.getB());
  }
}

namespace {
struct FuseProductGradients : dlc::dl::impl::FuseProductGradientsBase<FuseProductGradients> {
  void runOnOperation() override { Rewriter(getOperation().getBlock()).run(); }
};
} // namespace
