//===- Precision.cpp - what an op may compute in ----------------------------------------------===//
#include "passes/DL/Precision/Precision.h"
#include "dialects/DL/Ops/DLAttentionOps.h"
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLEntryOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLRecurrentOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"

using namespace mlir;
using namespace dlc::dl;

static bool isProduct(Operation *op) {
  return isa<MatmulOp, ConvolutionOp, ConvolutionBackwardDataOp, ConvolutionBackwardFilterOp,
             AttentionOp>(op);
}

/// Sums, and means of them, may be of many small numbers; a maximum is one of its operand's.
static bool isSum(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return isa<MomentsOp, SlidingSumOp>(op) || (reduce && reduce.getKind() == ReduceKind::Sum);
}

static bool isLossOrMetric(Operation *op) {
  return isa<SoftmaxCrossEntropyOp, SmoothedCrossEntropyOp, ProbabilityCrossEntropyOp,
             SigmoidCrossEntropyOp, HuberOp, HingeOp, KlDivergenceOp, AccuracyOp, TopAccuracyOp,
             BinaryAccuracyOp>(op);
}

Precision dlc::dl::precisionOf(Operation *op) {
  if (isProduct(op))
    return Precision::Narrow;
  if (isSum(op) || isLossOrMetric(op) ||
      isa<SoftmaxOp, LogSoftmaxOp, ExpOp, LogOp, PowerOp, LayerNormOp, RmsNormOp, GroupNormOp,
          LstmOp, GruOp>(op))
    return Precision::Wide;
  if (isa<BatchNormOp, BatchNormInferenceOp, LocalResponseNormOp, GeluOp>(op))
    return Precision::Rounded;
  return Precision::Widest;
}

bool dlc::dl::takesTF32(Operation *op) {
  return isProduct(op) ||
         isa<AttentionBackwardOp, LstmOp, LstmBackwardOp, GruOp, GruBackwardOp>(op);
}

void dlc::dl::passTF32On(Operation *op, Operation *before, Operation *end) {
  if (!isTF32(op))
    return;
  Attribute precision = op->getAttr(precisionName);
  for (Operation *made = before ? before->getNextNode() : &end->getBlock()->front(); made != end;
       made = made->getNextNode())
    if (takesTF32(made))
      made->setAttr(precisionName, precision);
}

bool dlc::dl::roundsGradient(Operation *op) {
  return isa<ElementwiseOp>(op) && !isa<AddOp, SubtractOp, MultiplyOp, NegateOp, AbsOp, ReluOp,
                                        MaximumOp, MinimumOp, SelectOp, CompareOp, CastOp>(op);
}
