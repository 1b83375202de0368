//===- FuseProductGradients.cpp - the gradient of a bias in that of its weight ----------------===//
//
// Behind dl-fuse. For matrices of f32, where the target computes both together in less time than
// one after the other, as one call of cuBLASLt does:
//
//   %db = fused{ reduce sum %dy axes = [0] }
//   %dw = fused{ matmul(%dy^T, %x) }
// ->
//   %dw, %db = fused{ matmul(%dy^T, %x); reduce sum %dy }
//
// The same for a weight stored the other way round, matmul(%x^T, %dy).
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/DL/Fusion/JoinRegions.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Schedule/Order.h"
#include "llvm/ADT/SetVector.h"

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

/// Puts an op with one more result, `yielded` of its region, in the place of `fused`, which has no
/// uses.
static FusedOp addResult(FusedOp fused, Value yielded) {
  OpBuilder builder(fused);
  SmallVector<Type> types(fused.getResultTypes());
  types.push_back(yielded.getType());
  bodyOf(fused).getTerminator()->insertOperands(types.size() - 1, yielded);
  auto wider = FusedOp::create(builder, fused.getLoc(), types, fused.getOperands());
  wider->setDiscardableAttrs(fused->getDiscardableAttrDictionary());
  wider.getBody().takeBody(fused.getBody());
  fused.erase();
  return wider;
}

namespace {
class Rewriter {
public:
  Rewriter(Block &block, CandidateSource &source) : block(block), source(source) {}
  void run() {
    // Collected first: joining replaces products, but no sums.
    SmallVector<FusedOp> sums(llvm::make_filter_range(block.getOps<FusedOp>(), matchRowSums));
    for (FusedOp fused : sums)
      joinProduct(fused, matchRowSums(fused));
    // Sums may now be computed behind ops that read them.
    sortByOperands(block);
  }

private:
  void joinProduct(FusedOp sums, ReduceOp reduce);
  double secondsOf(FusedOp fused) {
    std::vector<Candidate> all = source.candidates(fused);
    return all.empty() ? std::numeric_limits<double>::infinity() : all.front().seconds;
  }

  Block &block;
  CandidateSource &source;
};
} // namespace

/// Whether `op` needs a result of `other`. Looked for from `other` on: little is computed of the
/// gradient of a bias, and nearly all goes into that of a weight.
static bool dependsOn(Operation *op, Operation *other) {
  SetVector<Operation *> users(other->user_begin(), other->user_end());
  for (size_t i = 0; i < users.size() && !users.contains(op); ++i)
    users.insert(users[i]->user_begin(), users[i]->user_end());
  return users.contains(op);
}

/// A copy of `product` that also sums the rows of `summed`, of its region, before it.
static FusedOp addSums(FusedOp product, ReduceOp reduce, Value summed) {
  OpBuilder builder(product);
  IRMapping mapping;
  auto copy = cast<FusedOp>(builder.clone(*product, mapping));
  builder.setInsertionPoint(bodyOf(copy).getTerminator());
  Value inner = ReduceOp::create(builder, reduce.getLoc(), ReduceKind::Sum, mapping.lookup(summed),
                                 reduce.getAxes());
  return addResult(copy, inner);
}

/// The sums of rows join a product that reads along its rows what they sum.
void Rewriter::joinProduct(FusedOp sums, ReduceOp reduce) {
  Value summed = operandOf(sums, reduce.getX());
  SetVector<Operation *> readers(summed.user_begin(), summed.user_end());
  SmallVector<Operation *> ordered = readers.takeVector();
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *reader : ordered) {
    auto product = dyn_cast<FusedOp>(reader);
    Value yielded = product ? yieldedBy(product) : Value();
    MatmulOp matmul = yielded ? asProduct(yielded) : MatmulOp();
    if (!matmul)
      continue;
    bool isA = matmul.getTransposeA() && operandOf(product, matmul.getA()) == summed;
    bool isB = !matmul.getTransposeB() && operandOf(product, matmul.getB()) == summed;
    if ((!isA && !isB) || dependsOn(product, sums))
      continue;
    FusedOp joined = addSums(product, reduce, isA ? matmul.getA() : matmul.getB());
    if (secondsOf(joined) >= secondsOf(product) + secondsOf(sums)) {
      joined.erase();
      return;
    }
    product.replaceAllUsesWith(joined.getResults().drop_back());
    sums.getResult(0).replaceAllUsesWith(joined.getResults().back());
    product.erase();
    sums.erase();
    return;
  }
}

namespace {
struct FuseProductGradients : PassWrapper<FuseProductGradients, OperationPass<EntryOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseProductGradients)

  explicit FuseProductGradients(std::shared_ptr<CandidateSource> source)
      : source(std::move(source)) {}
  StringRef getArgument() const override { return "dl-fuse-product-gradients"; }
  StringRef getDescription() const override {
    return "lets a product compute sums of its operands, where the target can";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    source->addDialects(registry);
  }
  void runOnOperation() override { Rewriter(getOperation().getBlock(), *source).run(); }

  std::shared_ptr<CandidateSource> source;
};
} // namespace

std::unique_ptr<Pass> dlc::dl::createFuseProductGradients(std::shared_ptr<CandidateSource> source) {
  return std::make_unique<FuseProductGradients>(std::move(source));
}
