//===- DLBatchwise.cpp - which ops run on a part of the batch ---------------------------------===//
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Ops/DLSampleOps.h"

using namespace mlir;
using namespace dlc::dl;

static std::optional<BatchDivision> divideIf(bool condition, BatchDivision division) {
  return condition ? std::optional(std::move(division)) : std::nullopt;
}

/// All operands have the batch.
static BatchDivision divideAll(Operation *op) {
  return {llvm::to_vector(llvm::seq<unsigned>(op->getNumOperands()))};
}

static bool dropsBatch(ReductionOp op) { return llvm::is_contained(op.getReducedAxes(), 0); }

std::optional<BatchDivision> ConvolutionOp::getBatchDivision() { return BatchDivision{{0}}; }

std::optional<BatchDivision> ConvolutionBackwardDataOp::getBatchDivision() {
  return BatchDivision{{0}};
}

std::optional<BatchDivision> ConvolutionBackwardFilterOp::getBatchDivision() {
  return BatchDivision{{0, 1}, true};
}

std::optional<BatchDivision> MatmulOp::getBatchDivision() {
  if (getA().getType().getRank() > 2)
    return BatchDivision{{0, 1}};
  if (!getTransposeA())
    return BatchDivision{{0}};
  return divideIf(!getTransposeB(), {{0, 1}, true});
}

std::optional<BatchDivision> GridSampleOp::getBatchDivision() { return divideAll(*this); }
std::optional<BatchDivision> GridSampleBackwardImageOp::getBatchDivision() {
  return divideAll(*this);
}
std::optional<BatchDivision> GridSampleBackwardGridOp::getBatchDivision() {
  return divideAll(*this);
}

std::optional<BatchDivision> ReduceOp::getBatchDivision() {
  if (!dropsBatch(*this))
    return BatchDivision{{0}};
  return divideIf(getKind() == ReduceKind::Sum, {{0}, true});
}

std::optional<BatchDivision> MomentsOp::getBatchDivision() {
  return divideIf(!dropsBatch(*this), {{0}});
}

std::optional<BatchDivision> SoftmaxCrossEntropyOp::getBatchDivision() {
  return divideIf(getAxis() != 0, divideAll(*this));
}

std::optional<BatchDivision> SoftmaxCrossEntropyBackwardOp::getBatchDivision() {
  return divideIf(getAxis() != 0, divideAll(*this));
}

std::optional<BatchDivision> AccuracyOp::getBatchDivision() {
  return divideIf(getAxis() != 0, divideAll(*this));
}

std::optional<BatchDivision> BroadcastOp::getBatchDivision() {
  return divideIf(!getDims().empty() && getDims().front() == 0 &&
                      leadingSize(getX()) == leadingSize(getY()),
                  {{0}});
}

std::optional<BatchDivision> ReshapeOp::getBatchDivision() {
  return divideIf(leadingSize(getX()) == leadingSize(getY()), {{0}});
}

std::optional<BatchDivision> TransposeOp::getBatchDivision() {
  return divideIf(getOrder().front() == 0, {{0}});
}

std::optional<BatchDivision> ConcatOp::getBatchDivision() {
  return divideIf(getAxis() != 0, divideAll(*this));
}
