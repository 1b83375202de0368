//===- DLGradients.cpp - the gradient rules of ops that are not element-wise -----------------===//
//
// dX is the gradient of the loss in X. Each rule builds the gradients of the operands from those of
// the results, from ops that have rules themselves, so that a gradient of a gradient works. Rules
// use the op's result where they can: the operand then need not be saved.
//
//===------------------------------------------------------------------------------------------===//
#include "dialects/DL/Builders/TensorBuilder.h"
#include "dialects/DL/Facts/WindowIndex.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLSampleOps.h"
#include "dialects/DL/Rules/Classes.h"
#include "dialects/DL/Rules/GradientRule.h"

using namespace mlir;
using namespace dlc::dl;

/// The frame of all rules with one operand and one result: `rule` gives dx from dy.
template <typename Op, typename Rule>
static LogicalResult unary(Op op, OpBuilder &builder, Gradients dy, Wanted wanted,
                           OperandGradients &dx, Rule rule) {
  if (dy[0] && flowsInto(op, wanted, 0))
    dx[0] = rule(TensorBuilder{builder, op.getLoc()}, dy[0]);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Shapes, reductions, products
//===------------------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                         OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder b, Value dy) {
    RankedTensorType x = b.typeOf(getX()), y = b.typeOf(getY());
    SmallVector<int64_t> repeated;
    for (int64_t axis = 0; axis < y.getRank(); ++axis) {
      const int64_t *dim = llvm::find(getDims(), axis);
      if (dim == getDims().end() || x.getDimSize(dim - getDims().begin()) != y.getDimSize(axis))
        repeated.push_back(axis);
    }
    Value sum = repeated.empty() ? dy : b.reduce(ReduceKind::Sum, dy, repeated);
    return b.reshape(sum, x); // gives back the axes of size 1
  });
}

LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                       OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx,
               [&](TensorBuilder b, Value dy) { return b.reshape(dy, b.typeOf(getX())); });
}

LogicalResult TransposeOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                         OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder b, Value dy) -> Value {
    SmallVector<int64_t> inverse(getOrder().size());
    for (auto [axis, source] : llvm::enumerate(getOrder()))
      inverse[source] = axis;
    return TransposeOp::create(builder, getLoc(), dy, inverse);
  });
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                     OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder, Value dy) -> Value {
    return PadOp::create(builder, getLoc(), getX().getType(), dy, getStarts(), getSteps());
  });
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                   OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder b, Value dy) -> Value {
    return SliceOp::create(builder, getLoc(), dy, getLow(), b.typeOf(getX()).getShape(),
                           getSteps());
  });
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                      OperandGradients &dx) {
  if (!dy[0])
    return success();
  SmallVector<int64_t> starts(cast<RankedTensorType>(getType()).getRank(), 0),
      steps(starts.size(), 1);
  for (auto [i, x] : llvm::enumerate(getXs())) {
    ArrayRef<int64_t> sizes = cast<RankedTensorType>(x.getType()).getShape();
    if (flowsInto(*this, wanted, i))
      dx[i] = SliceOp::create(builder, getLoc(), dy[0], starts, sizes, steps);
    starts[getAxis()] += sizes[getAxis()];
  }
  return success();
}

LogicalResult GatherOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                      OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder, Value dy) -> Value {
    return ScatterAddOp::create(builder, getLoc(), getX().getType(), dy, getIndex(), getAxis());
  });
}

LogicalResult ScatterAddOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                          OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder, Value dy) -> Value {
    return GatherOp::create(builder, getLoc(), dy, getIndex(), getAxis());
  });
}

LogicalResult ReduceOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                      OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder b, Value dy) {
    RankedTensorType x = b.typeOf(getX());
    if (getKind() == ReduceKind::Sum)
      return b.broadcastOver(dy, x, getAxes());
    Value equal = b.compare(Predicate::EQ, getX(), b.broadcastOver(getY(), x, getAxes()));
    Value winners = b.reduce(ReduceKind::Sum, b.castLike(equal, dy), getAxes());
    return b.keepWhere(equal, b.broadcastOver(b.divide(dy, winners), x, getAxes()));
  });
}

LogicalResult MomentsOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                       OperandGradients &dx) {
  if (!wanted[0])
    return success();
  TensorBuilder b{builder, getLoc()};
  RankedTensorType x = b.typeOf(getX());
  if (dy[0])
    dx[0] = b.broadcastOver(b.scale(dy[0], 1.0 / double(getCount())), x, getAxes());
  if (dy[1]) {
    Value centred = b.subtract(getX(), b.broadcastOver(getMean(), x, getAxes()));
    Value through = b.multiply(b.broadcastOver(b.scale(dy[1], 2), x, getAxes()), centred);
    dx[0] = dx[0] ? b.add(dx[0], through) : through;
  }
  return success();
}

/// The gradients that there are, reduced as one.
LogicalResult AllReduceOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                         OperandGradients &dx) {
  SmallVector<unsigned> flowing;
  SmallVector<Value> gradients;
  for (unsigned i = 0; i < dy.size(); ++i)
    if (dy[i] && wanted[i]) {
      flowing.push_back(i);
      gradients.push_back(dy[i]);
    }
  if (flowing.empty())
    return success();
  auto reduced = AllReduceOp::create(builder, getLoc(), gradients, getChannel());
  for (auto [i, result] : llvm::zip_equal(flowing, reduced.getYs()))
    dx[i] = result;
  return success();
}

LogicalResult MatmulOp::buildGradient(OpBuilder &builder, Gradients dc, Wanted wanted,
                                      OperandGradients &dx) {
  auto product = [&](Value a, Value b, bool transposeA, bool transposeB) -> Value {
    return MatmulOp::create(builder, getLoc(), a, b, transposeA, transposeB);
  };
  bool ta = getTransposeA(), tb = getTransposeB();
  // c = op(a) op(b), so d op(a) = dc op(b)' and d op(b) = op(a)' dc; transposed once more where op
  // transposes.
  if (dc[0] && flowsInto(*this, wanted, 0))
    dx[0] = ta ? product(getB(), dc[0], tb, true) : product(dc[0], getB(), false, !tb);
  if (dc[0] && flowsInto(*this, wanted, 1))
    dx[1] = tb ? product(dc[0], getA(), true, ta) : product(getA(), dc[0], !ta, false);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Convolutions: y(x, w), dx(dy, w) and dw(x, dy) are each linear in both operands, and each other's
// gradients
//===------------------------------------------------------------------------------------------===//

template <typename Result, typename Op>
static Value createLike(OpBuilder &builder, Op op, Type type, Value a, Value b) {
  return Result::create(builder, op.getLoc(), type, a, b, op.getStrides(), op.getPadding(),
                        op.getDilations(), op.getGroups(), op.getWishAttr());
}

LogicalResult ConvolutionOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                           OperandGradients &dx) {
  if (dy[0] && wanted[0])
    dx[0] = createLike<ConvolutionBackwardDataOp>(builder, *this, getX().getType(), dy[0], getW());
  if (dy[0] && wanted[1])
    dx[1] =
        createLike<ConvolutionBackwardFilterOp>(builder, *this, getW().getType(), getX(), dy[0]);
  return success();
}

LogicalResult ConvolutionBackwardDataOp::buildGradient(OpBuilder &builder, Gradients g,
                                                       Wanted wanted, OperandGradients &dx) {
  if (g[0] && wanted[0])
    dx[0] = createLike<ConvolutionOp>(builder, *this, getDy().getType(), g[0], getW());
  if (g[0] && wanted[1])
    dx[1] =
        createLike<ConvolutionBackwardFilterOp>(builder, *this, getW().getType(), g[0], getDy());
  return success();
}

LogicalResult ConvolutionBackwardFilterOp::buildGradient(OpBuilder &builder, Gradients g,
                                                         Wanted wanted, OperandGradients &dx) {
  if (g[0] && wanted[0])
    dx[0] = createLike<ConvolutionBackwardDataOp>(builder, *this, getX().getType(), getDy(), g[0]);
  if (g[0] && wanted[1])
    dx[1] = createLike<ConvolutionOp>(builder, *this, getDy().getType(), getX(), g[0]);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Pooling
//===------------------------------------------------------------------------------------------===//

LogicalResult MaxPoolOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                       OperandGradients &dx) {
  if (!dy[0] || !wanted[0])
    return success();
  MaxPoolOp indexed = *this;
  if (!getIndex()) {
    if (getGeometry().kernelSize() > mostIndexed)
      return emitOpError("has no gradient: the index of a window of ")
             << getGeometry().kernelSize() << " elements does not fit a byte";
    // Another op with an index takes this one's place, behind it; this one is dead then.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(*this);
    auto y = cast<RankedTensorType>(getY().getType());
    Type bytes = RankedTensorType::get(y.getShape(), builder.getIntegerType(8, /*isSigned=*/false));
    indexed = MaxPoolOp::create(builder, getLoc(), y, bytes, getX(), getKernel(), getStrides(),
                                getPadding(), getDilations());
    getY().replaceAllUsesWith(indexed.getY());
  }
  dx[0] = MaxPoolBackwardOp::create(builder, getLoc(), getX().getType(), dy[0], indexed.getIndex(),
                                    getKernel(), getStrides(), getPadding(), getDilations());
  return success();
}

LogicalResult MaxPoolBackwardOp::buildGradient(OpBuilder &builder, Gradients g, Wanted wanted,
                                               OperandGradients &dx) {
  if (g[0] && wanted[0])
    dx[0] = MaxPoolGatherOp::create(builder, getLoc(), getDy().getType(), g[0], getIndex(),
                                    getKernel(), getStrides(), getPadding(), getDilations());
  return success();
}

LogicalResult MaxPoolGatherOp::buildGradient(OpBuilder &builder, Gradients g, Wanted wanted,
                                             OperandGradients &dx) {
  if (g[0] && wanted[0])
    dx[0] = MaxPoolBackwardOp::create(builder, getLoc(), getX().getType(), g[0], getIndex(),
                                      getKernel(), getStrides(), getPadding(), getDilations());
  return success();
}

LogicalResult AveragePoolOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                           OperandGradients &dx) {
  if (dy[0] && wanted[0])
    dx[0] = AveragePoolBackwardOp::create(builder, getLoc(), getX().getType(), dy[0], getKernel(),
                                          getStrides(), getPadding(), getDilations(),
                                          getCountIncludePad());
  return success();
}

LogicalResult AveragePoolBackwardOp::buildGradient(OpBuilder &builder, Gradients g, Wanted wanted,
                                                   OperandGradients &dx) {
  if (g[0] && wanted[0])
    dx[0] = AveragePoolOp::create(builder, getLoc(), getDy().getType(), g[0], getKernel(),
                                  getStrides(), getPadding(), getDilations(), getCountIncludePad());
  return success();
}

LogicalResult SlidingSumOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                          OperandGradients &dx) {
  if (dy[0] && wanted[0])
    dx[0] = SlidingSumOp::create(builder, getLoc(), dy[0], getAxis(), getAfter(), getBefore());
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Samples
//===------------------------------------------------------------------------------------------===//

/// 0 where the nearest pixel is read, which is the same beside each place.
template <typename Op> static Value gradientByGrid(OpBuilder &builder, Op op, Value dy, Value x) {
  if (op.getNearest())
    return TensorBuilder{builder, op.getLoc()}.splatLike(op.getGrid(), 0);
  return GridSampleBackwardGridOp::create(builder, op.getLoc(), dy, x, op.getGrid(),
                                          op.getNearest(), op.getBorder(), op.getReflect(),
                                          op.getAlignCorners());
}

LogicalResult GridSampleOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                          OperandGradients &dx) {
  if (dy[0] && wanted[0])
    dx[0] = GridSampleBackwardImageOp::create(builder, getLoc(), getX().getType(), dy[0], getGrid(),
                                              getNearest(), getBorder(), getReflect(),
                                              getAlignCorners());
  if (dy[0] && wanted[1])
    dx[1] = gradientByGrid(builder, *this, dy[0], getX());
  return success();
}

LogicalResult GridSampleBackwardImageOp::buildGradient(OpBuilder &builder, Gradients g,
                                                       Wanted wanted, OperandGradients &dx) {
  if (g[0] && wanted[0])
    dx[0] = GridSampleOp::create(builder, getLoc(), g[0], getGrid(), getNearest(), getBorder(),
                                 getReflect(), getAlignCorners());
  if (g[0] && wanted[1])
    dx[1] = gradientByGrid(builder, *this, getDy(), g[0]);
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Losses
//===------------------------------------------------------------------------------------------===//

LogicalResult SoftmaxCrossEntropyOp::buildGradient(OpBuilder &builder, Gradients dloss,
                                                   Wanted wanted, OperandGradients &dx) {
  if (dloss[0] && wanted[0])
    dx[0] = SoftmaxCrossEntropyBackwardOp::create(builder, getLoc(), dloss[0], getLogits(),
                                                  getLabel(), getAxis());
  return success();
}

LogicalResult SmoothedCrossEntropyOp::buildGradient(OpBuilder &builder, Gradients dloss,
                                                    Wanted wanted, OperandGradients &dx) {
  if (!dloss[0] || !wanted[0])
    return success();
  TensorBuilder b{builder, getLoc()};
  Classes c = Classes::get(b, getLogits(), getLabel(), getAxis());
  const double smoothing = getSmoothing().convertToDouble();
  Value wide = b.castLike(dloss[0], c.x);
  Value ofLabel = b.scale(c.whereLabelled(wide), 1 - smoothing);
  Value ofAll = b.scale(wide, smoothing);
  Value hit = b.keepWhere(c.oneHot(), c.spread(ofLabel));
  Value even = b.scale(ofAll, 1 / double(c.count()));
  Value probability = SoftmaxOp::create(builder, getLoc(), c.x, uint64_t(c.axis));
  Value all = b.multiply(probability, c.spread(b.add(ofLabel, ofAll)));
  dx[0] = b.castLike(b.subtract(b.subtract(all, hit), c.spread(even)), getLogits());
  return success();
}

LogicalResult SigmoidCrossEntropyOp::buildGradient(OpBuilder &builder, Gradients dloss,
                                                   Wanted wanted, OperandGradients &dx) {
  TensorBuilder b{builder, getLoc()};
  if (dloss[0] && wanted[0])
    dx[0] = b.multiply(dloss[0], b.subtract(b.sigmoid(getA()), getTarget()));
  if (dloss[0] && wanted[1])
    dx[1] = b.negate(b.multiply(dloss[0], getA()));
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Norms and activations
//===------------------------------------------------------------------------------------------===//

/// dx of what is asked of mean and variance: dmean / n + 2 (x - mean) dvariance / n. Over ranks, n
/// counts the elements of all, and all ask.
static Value statisticsGradient(BatchNormOp op, TensorBuilder b, Value dmean, Value dvariance) {
  RankedTensorType x = b.typeOf(op.getX());
  int64_t channels = x.getDimSize(1);
  double share = double(channels) / double(x.getNumElements());
  auto ofAll = [&](Value &each) {
    if (each && op.getRanks())
      each = b.multiply(b.sumOverRanks(each),
                        b.broadcast(b.castLike(op.getRanks(), each), b.typeOf(each), {}));
  };
  ofAll(dmean);
  ofAll(dvariance);
  auto spread = [&](Value each) { return b.broadcast(each, x, {1}); };
  Value dx = dmean ? spread(b.scale(dmean, share)) : Value();
  if (!dvariance)
    return dx;
  Value centred = b.subtract(op.getX(), spread(op.getMean()));
  Value part = b.multiply(centred, spread(b.scale(dvariance, 2 * share)));
  return dx ? b.add(dx, part) : part;
}

LogicalResult BatchNormOp::buildGradient(OpBuilder &builder, Gradients dresults, Wanted wanted,
                                         OperandGradients &dx) {
  TensorBuilder b{builder, getLoc()};
  if (dresults[0] && llvm::is_contained(wanted, true)) {
    auto backward =
        BatchNormBackwardOp::create(builder, getLoc(), dresults[0], getX(), getMean(),
                                    getVariance(), getScale(), getRanks(), getEpsilon());
    if (wanted[0])
      dx[0] = backward.getDx();
    unsigned next = 1;
    for (auto [operand, gradient] :
         {std::pair(getScale(), backward.getDscale()), std::pair(getBias(), backward.getDbias())}) {
      if (!operand)
        continue;
      if (wanted[next])
        dx[next] = gradient;
      ++next;
    }
  }
  if ((dresults[1] || dresults[2]) && wanted[0]) {
    Value part = statisticsGradient(*this, b, dresults[1], dresults[2]);
    dx[0] = dx[0] ? b.add(dx[0], part) : part;
  }
  return success();
}

LogicalResult StopGradientOp::buildGradient(OpBuilder &, Gradients, Wanted, OperandGradients &) {
  return success();
}

/// Two powers of the base, neither of which the forward pass has: what it keeps is one tensor, the
/// base or its logarithm. What is summed is needed nowhere else, so that one kernel does all of it.
LogicalResult LocalResponseNormOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                                 OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder b, Value dy) {
    const double alpha = getAlpha().convertToDouble(), beta = getBeta().convertToDouble();
    Value base = buildBase(builder);
    Value share = b.multiply(b.multiply(dy, getX()), b.power(base, -beta - 1));
    Value sum = SlidingSumOp::create(builder, getLoc(), share, /*axis=*/1, getAfter(), getBefore());
    Value others = b.multiply(b.scale(getX(), 2 * alpha * beta / double(getSize())), sum);
    return b.subtract(b.multiply(dy, b.power(base, -beta)), others);
  });
}

LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                       OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder b, Value dy) {
    int64_t axis = getAxis();
    Value sum = b.reduce(ReduceKind::Sum, b.multiply(dy, getY()), {axis});
    return b.multiply(getY(), b.subtract(dy, b.broadcastOver(sum, b.typeOf(dy), {axis})));
  });
}

LogicalResult LogSoftmaxOp::buildGradient(OpBuilder &builder, Gradients dy, Wanted wanted,
                                          OperandGradients &dx) {
  return unary(*this, builder, dy, wanted, dx, [&](TensorBuilder b, Value dy) {
    int64_t axis = getAxis();
    Value sum = b.broadcastOver(b.reduce(ReduceKind::Sum, dy, {axis}), b.typeOf(dy), {axis});
    return b.subtract(dy, b.multiply(b.exp(getY()), sum));
  });
}
