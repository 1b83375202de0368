//===- JoinProductGradients.cpp - the gradient of a bias in that of its weight ----------------===//
//
// For matrices of f32, where the target computes both together in less time than one after the
// other, as one call of cuBLASLt does:
//
//   %db = fused{ reduce sum %dy axes = [0] }
//   %dw = fused{ matmul(%dy^T, %x) }
// ->
//   %dw, %db = fused{ matmul(%dy^T, %x); reduce sum %dy }
//
// The same for a weight stored the other way round, matmul(%x^T, %dy).
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "passes/DL/Fusion/Join.h"
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

/// Whether `op` needs a result of `other`. Looked for from `other` on: little is computed of the
/// gradient of a bias, and nearly all goes into that of a weight.
static bool dependsOn(Operation *op, Operation *other) {
  SetVector<Operation *> users(other->user_begin(), other->user_end());
  for (size_t i = 0; i < users.size() && !users.contains(op); ++i)
    users.insert(users[i]->user_begin(), users[i]->user_end());
  return users.contains(op);
}

/// The first product that reads along its rows what `sums` adds up; null if there is none.
static FusedOp productBeside(FusedOp sums, ReduceOp reduce) {
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
    if ((isA || isB) && !dependsOn(product, sums))
      return product;
  }
  return {};
}

//===------------------------------------------------------------------------------------------===//
// Rewrites
//===------------------------------------------------------------------------------------------===//

static void joinProduct(Joiner &joiner, FusedOp sums) {
  FusedOp product = productBeside(sums, matchRowSums(sums));
  if (!product)
    return;
  FusedOp joined = joinRegions(product, sums, OfFirst::Stored);
  joined->moveBefore(product);
  if (!joiner.accept({{product, joined}}, joiner.secondsOf(sums)))
    return;
  product.replaceAllUsesWith(joined.getResults().drop_back());
  sums.replaceAllUsesWith(joined.getResults().take_back());
  product.erase();
  sums.erase();
}

void dlc::dl::joinProductGradients(Joiner &joiner) {
  // Collected first: joining replaces products, but no sums.
  SmallVector<FusedOp> sums(llvm::make_filter_range(joiner.block.getOps<FusedOp>(), matchRowSums));
  for (FusedOp fused : sums)
    joinProduct(joiner, fused);
  // Sums may now be computed behind ops that read them.
  sortByOperands(joiner.block);
}
