//===- DLLossOps.cpp - types and verification of losses and metrics over classes --------------===//
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/Shapes.h"

using namespace mlir;
using namespace dlc::dl;

/// `type` without `axis`. Emits (C1), and returns null.
static RankedTensorType withoutAxis(std::optional<Location> location, StringRef op,
                                    RankedTensorType type, int64_t axis) {
  if (failed(checkAxis(location, op, axis, type.getRank())))
    return {};
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape, type.getElementType());
}

/// The type of one number a sample: logits' without `axis`. Emits (C1) and (C2), and returns null.
static RankedTensorType perSampleType(std::optional<Location> location, StringRef op, Value logits,
                                      Value label, int64_t axis) {
  RankedTensorType x = tensorType(logits), result = withoutAxis(location, op, x, axis);
  if (!result)
    return {};
  if (tensorType(label).getShape() != result.getShape() || x.getDimSize(axis) == 0) {
    (void)emitOptionalError(location, op, ": (C2) expects at least one class on axis ", axis,
                            " and a label for each sample, found ", x, " and ", label.getType());
    return {};
  }
  return result;
}

LogicalResult dlc::dl::inferPerSample(std::optional<Location> location, StringRef op, Value logits,
                                      Value label, int64_t axis, SmallVectorImpl<Type> &results) {
  results.push_back(perSampleType(location, op, logits, label, axis));
  return success(results.back() != nullptr);
}

LogicalResult SoftmaxCrossEntropyBackwardOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType loss =
      perSampleType(location, getOperationName(), operands[1], operands[2], adaptor.getAxis());
  if (!loss)
    return failure();
  if (operands[0].getType() != loss)
    return emitOptionalError(location, getOperationName(), ": (C3) expects dloss to be ", loss,
                             ", found ", operands[0].getType());
  results.push_back(operands[1].getType());
  return success();
}

LogicalResult
ProbabilityCrossEntropyOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  results.push_back(
      withoutAxis(location, getOperationName(), tensorType(operands[0]), adaptor.getAxis()));
  return success(results.back() != nullptr);
}

LogicalResult SmoothedCrossEntropyOp::verify() {
  double smoothing = getSmoothing().convertToDouble();
  if (!(smoothing >= 0 && smoothing <= 1))
    return emitOpError("(C3) expects smoothing from 0 to 1, found ") << smoothing;
  return success();
}

LogicalResult TopAccuracyOp::verify() {
  int64_t k = getKAttr().getInt();
  if (k < 1)
    return emitOpError("(C3) expects k of 1 or more, found ") << k;
  return success();
}
