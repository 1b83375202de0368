//===- DLCompositeOps.cpp - verification of norms, activations and losses ---------------------===//
#include "dialects/DL/Ops/DLCompositeOps.h"
#include "dialects/DL/Ops/Shapes.h"

using namespace mlir;
using namespace dlc::dl;

Type dlc::dl::channelsType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get({tensor.getRank() < 2 ? 0 : tensor.getDimSize(1)},
                               tensor.getElementType());
}

//===------------------------------------------------------------------------------------------===//
// Norms
//===------------------------------------------------------------------------------------------===//

/// (C2) The operands of the affine part, those that are there, are of `type`.
static LogicalResult verifyAffine(Operation *op, ValueRange affine, Type type) {
  for (Value each : affine)
    if (each && each.getType() != type)
      return op->emitOpError("(C2) expects scale and bias to be ")
             << type << ", found " << each.getType();
  return success();
}

/// (C3)
template <typename Op> static LogicalResult verifyEpsilon(Op op) {
  double epsilon = op.getEpsilon().convertToDouble();
  if (!(epsilon >= 0))
    return op.emitOpError("(C3) expects epsilon of 0 or more, found ") << epsilon;
  return success();
}

template <typename Op>
static LogicalResult verifyChannelNorm(Op op, ValueRange affine, bool needsElements = true) {
  RankedTensorType x = tensorType(op.getX());
  if (x.getRank() < 2 || (needsElements && x.getNumElements() == 0))
    return op.emitOpError("(C1) expects rank 2 or more")
           << (needsElements ? " and elements" : "") << ", found " << x;
  if (failed(verifyAffine(op, affine, channelsType(x))))
    return failure();
  return verifyEpsilon(op);
}

LogicalResult BatchNormOp::verify() { return verifyChannelNorm(*this, {getScale(), getBias()}); }
LogicalResult BatchNormBackwardOp::verify() { return verifyChannelNorm(*this, {getScale()}); }
LogicalResult BatchNormInferenceOp::verify() {
  return verifyChannelNorm(*this, {getScale(), getBias()}, /*needsElements=*/false);
}

LogicalResult GroupNormOp::verify() {
  if (failed(verifyChannelNorm(*this, {getScale(), getBias()})))
    return failure();
  int64_t groups = getGroups(), channels = tensorType(getX()).getDimSize(1);
  if (groups < 1 || channels % groups != 0)
    return emitOpError("(C1) has ") << groups << " groups for " << channels << " channels";
  return success();
}

template <typename Op> static LogicalResult verifyAxesNorm(Op op, ValueRange affine) {
  RankedTensorType x = tensorType(op.getX());
  int64_t previous = -1;
  SmallVector<int64_t> shape;
  for (int64_t axis : op.getAxes()) {
    if (axis <= previous || axis >= x.getRank())
      return op.emitOpError("(C1) has axes [")
             << op.getAxes() << "], which do not rise within rank " << x.getRank();
    shape.push_back(x.getDimSize(previous = axis));
  }
  if (shape.empty() || x.getNumElements() == 0)
    return op.emitOpError("(C1) expects an axis and elements, found ") << x;
  if (failed(verifyAffine(op, affine, RankedTensorType::get(shape, x.getElementType()))))
    return failure();
  return verifyEpsilon(op);
}

LogicalResult LayerNormOp::verify() { return verifyAxesNorm(*this, {getScale(), getBias()}); }
LogicalResult RmsNormOp::verify() { return verifyAxesNorm(*this, {getScale()}); }

int64_t LocalResponseNormOp::getBefore() {
  return std::min<int64_t>(getSize() / 2, tensorType(getX()).getDimSize(1));
}
int64_t LocalResponseNormOp::getAfter() {
  return std::min<int64_t>((getSize() - 1) / 2, tensorType(getX()).getDimSize(1));
}

LogicalResult LocalResponseNormOp::verify() {
  RankedTensorType x = tensorType(getX());
  if (x.getRank() < 3)
    return emitOpError("(C1) expects rank 3 or more, found ") << x;
  if (getSize() < 1)
    return emitOpError("(C2) expects a size of 1 or more, found ") << getSize();
  double alpha = getAlpha().convertToDouble(), k = getK().convertToDouble();
  if (!(alpha >= 0) || !(k > 0))
    return emitOpError("(C2) expects alpha of 0 or more and k above 0, found ")
           << alpha << " and " << k;
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Activations and losses
//===------------------------------------------------------------------------------------------===//

template <typename Op> static LogicalResult verifyAxis(Op op) {
  return checkAxis(op.getLoc(), op.getOperationName(), op.getAxis(),
                   tensorType(op.getX()).getRank());
}

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this); }
LogicalResult LogSoftmaxOp::verify() { return verifyAxis(*this); }

LogicalResult HuberOp::verify() {
  double delta = getDelta().convertToDouble();
  if (!(delta > 0))
    return emitOpError("(C1) expects delta above 0, found ") << delta;
  return success();
}
