//===- FoldBatchNorm.cpp - batch norm within the weights of the convolution before it ---------===//
//
//   %c = dl.convolution %x, %w ...
//   %y = dl.batch_norm_inference %c, %mean, %variance scale(%scale) bias(%bias) epsilon = e
// ->
//   %factor = %scale / sqrt(%variance + e)
//   %folded = %w * broadcast(%factor, of output channels)
//   %z = dl.convolution %x, %folded ...
//   %y = %z + broadcast(%bias - %mean * %factor)
//
// With a bias b of the convolution's own, (b - mean) * factor + bias is added. All but x are read
// from variables that stay as they are, so dl-derive-variables computes factor and sums once. The
// convolution's result must have no other use, and all tensors one element type: rounding to bf16
// stands where the user put it.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/Names.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "passes/DL/Passes.h"
#include "passes/DL/Simplify/DeadCode.h"
#include "passes/DL/Simplify/Unchanging.h"

namespace dlc::dl {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "passes/DL/Passes.h.inc"
} // namespace dlc::dl

using namespace mlir;
using namespace dlc::dl;

namespace {
/// A convolution and what is added to its channels, if anything.
struct Convolved {
  ConvolutionOp convolution;
  Value bias;
};
} // namespace

/// `x` as a convolution whose values nothing else needs.
static Convolved matchConvolution(Value x) {
  if (!x.hasOneUse())
    return {};
  if (auto convolution = x.getDefiningOp<ConvolutionOp>())
    return {convolution, Value()};
  auto sum = x.getDefiningOp<AddOp>();
  auto convolution = sum ? sum.getA().getDefiningOp<ConvolutionOp>() : ConvolutionOp();
  auto bias = sum ? sum.getB().getDefiningOp<BroadcastOp>() : BroadcastOp();
  if (!convolution || !convolution->hasOneUse() || !bias ||
      bias.getDims() != ArrayRef<int64_t>{1} ||
      bias.getX().getType().getDimSize(0) != cast<RankedTensorType>(x.getType()).getDimSize(1))
    return {};
  return {convolution, bias.getX()};
}

static void fold(BatchNormInferenceOp norm, const Unchanging &unchanging) {
  auto [convolution, bias] = matchConvolution(norm.getX());
  if (!convolution)
    return;
  Type element = getElementTypeOrSelf(norm.getX().getType());
  for (Value value :
       std::initializer_list<Value>{convolution.getW(), bias, norm.getMean(), norm.getVariance(),
                                    norm.getScale(), norm.getBias()})
    if (value && (!unchanging.contains(value) || getElementTypeOrSelf(value.getType()) != element))
      return;
  OpBuilder builder(norm);
  TensorBuilder b{builder, stageLoc(norm.getLoc(), "fold")};
  Value deviation = b.sqrt(b.shift(norm.getVariance(), norm.getEpsilon().convertToDouble()));
  Value factor =
      b.divide(norm.getScale() ? norm.getScale() : b.splatLike(norm.getVariance(), 1), deviation);
  Value centre = bias ? b.subtract(norm.getMean(), bias) : norm.getMean();
  Value shift = b.multiply(centre, factor);
  shift = norm.getBias() ? b.subtract(norm.getBias(), shift) : b.negate(shift);
  Value w = convolution.getW();
  Value folded = b.multiply(w, b.broadcast(factor, b.typeOf(w), {0}));
  b.loc = convolution.getLoc();
  auto scaled = cast<ConvolutionOp>(builder.clone(*convolution));
  scaled.getWMutable().assign(folded);
  Value added = b.broadcast(shift, b.typeOf(norm.getY()), {1});
  norm.getY().replaceAllUsesWith(b.add(scaled.getResult(), added));
  norm.erase();
}

namespace {
struct FoldBatchNorm : dlc::dl::impl::FoldBatchNormBase<FoldBatchNorm> {
  void runOnOperation() override {
    Unchanging unchanging(getOperation());
    for (auto entry : getOperation().getOps<EntryOp>()) {
      if (!dlc::program::usesModel(entry.getKind()))
        continue;
      for (auto norm : llvm::make_early_inc_range(entry.getBlock().getOps<BatchNormInferenceOp>()))
        fold(norm, unchanging);
      eraseDeadOps(entry);
    }
  }
};
} // namespace
