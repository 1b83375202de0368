//===- DLNetworkOps.cpp - geometry, inference and verification of network ops -----------------===//
#include "dialects/DL/Facts/WindowIndex.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/DLLossOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"

using namespace mlir;
using namespace dlc::dl;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// The settings that all sliding windows share.
struct WindowSettings {
  ArrayRef<int64_t> kernel, strides, padding, dilations;

  WindowAxis axis(size_t i, int64_t input, int64_t output) const {
    return {.input = input,
            .output = output,
            .kernel = kernel[i],
            .stride = strides[i],
            .dilation = dilations[i],
            .low = padding[2 * i],
            .high = padding[2 * i + 1]};
  }
};

/// Numbers of a window stay below this, so that products of two cannot overflow.
static constexpr int64_t maxSetting = int64_t(1) << 31;

static bool allWithin(ArrayRef<int64_t> values, int64_t low) {
  return llvm::all_of(values, [=](int64_t v) { return v >= low && v < maxSetting; });
}

//===------------------------------------------------------------------------------------------===//
// Convolutions
//===------------------------------------------------------------------------------------------===//

/// The shape of y for x and w. On violation of a constraint `error` names it, and the result is
/// empty.
static SmallVector<int64_t> convolutionShape(RankedTensorType x, RankedTensorType w,
                                             const WindowSettings &window, int64_t groups,
                                             std::string &error) {
  llvm::raw_string_ostream os(error);
  int64_t rank = x.getRank(), spatial = rank - 2;
  if (rank < 3 || rank > 5 || w.getRank() != rank || x.getElementType() != w.getElementType()) {
    os << "(C1) expects equal ranks from 3 to 5 and equal element types, found '" << x << "' and '"
       << w << "'";
    return {};
  }
  if (int64_t(window.strides.size()) != spatial || int64_t(window.dilations.size()) != spatial ||
      int64_t(window.padding.size()) != 2 * spatial || !allWithin(window.strides, 1) ||
      !allWithin(window.dilations, 1) || !allWithin(window.padding, 0)) {
    os << "(C2) expects " << spatial << " strides and dilations of at least 1 and " << 2 * spatial
       << " paddings of at least 0, all below 2^31";
    return {};
  }
  int64_t channels = x.getDimSize(1), filters = w.getDimSize(0);
  if (groups < 1 || channels % groups != 0 || filters % groups != 0 ||
      w.getDimSize(1) != channels / groups) {
    os << "(C3) " << groups << " groups do not fit " << channels << " channels and filters '" << w
       << "'";
    return {};
  }
  SmallVector<int64_t> shape{x.getDimSize(0), filters};
  for (int64_t i = 0; i < spatial; ++i) {
    WindowAxis axis = window.axis(i, x.getDimSize(i + 2), 0);
    int64_t padded = axis.input + axis.low + axis.high;
    if (axis.kernel < 1 || axis.kernel >= maxSetting || axis.extent() > padded) {
      os << "(C4) on spatial axis " << i << " the kernel spans " << axis.extent()
         << " of the padded input's " << padded;
      return {};
    }
    shape.push_back(axis.floorOutput());
  }
  return shape;
}

template <typename OpOrAdaptor>
static WindowSettings settingsOf(OpOrAdaptor op, ArrayRef<int64_t> kernel) {
  return {kernel, op.getStrides(), op.getPadding(), op.getDilations()};
}

static ArrayRef<int64_t> kernelOf(RankedTensorType w) {
  return w.getShape().drop_front(std::min<size_t>(2, w.getRank()));
}

template <typename Op>
static ConvolutionGeometry convolutionGeometry(Op op, Value x, Value w, Value y) {
  RankedTensorType xType = tensorType(x), wType = tensorType(w), yType = tensorType(y);
  WindowSettings window = settingsOf(op, kernelOf(wType));
  ConvolutionGeometry geometry;
  geometry.batch = xType.getDimSize(0);
  geometry.channels = xType.getDimSize(1);
  geometry.filters = wType.getDimSize(0);
  geometry.groups = op.getGroups();
  for (size_t i = 0; i < window.kernel.size(); ++i)
    geometry.axes.push_back(window.axis(i, xType.getDimSize(i + 2), yType.getDimSize(i + 2)));
  return geometry;
}

ConvolutionGeometry ConvolutionOp::getGeometry() {
  return convolutionGeometry(*this, getX(), getW(), getY());
}
ConvolutionGeometry ConvolutionBackwardDataOp::getGeometry() {
  return convolutionGeometry(*this, getDx(), getW(), getDy());
}
ConvolutionGeometry ConvolutionBackwardFilterOp::getGeometry() {
  return convolutionGeometry(*this, getX(), getDw(), getDy());
}

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> location, ValueRange operands,
                                              DictionaryAttr attributes,
                                              OpaqueProperties properties, RegionRange regions,
                                              SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType x = tensorType(operands[0]), w = tensorType(operands[1]);
  std::string error;
  SmallVector<int64_t> shape =
      convolutionShape(x, w, settingsOf(adaptor, kernelOf(w)), adaptor.getGroups(), error);
  if (!error.empty())
    return emitOptionalError(location, getOperationName(), ": ", error);
  results.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

/// A backward op: dl.convolution of (x, w) must be legal and give y's type.
template <typename Op> static LogicalResult verifyBackward(Op op, Value x, Value w, Value y) {
  RankedTensorType xType = tensorType(x), wType = tensorType(w), yType = tensorType(y);
  std::string error;
  SmallVector<int64_t> shape =
      convolutionShape(xType, wType, settingsOf(op, kernelOf(wType)), op.getGroups(), error);
  if (!error.empty())
    return op.emitOpError(error);
  if (yType.getShape() != ArrayRef(shape) || yType.getElementType() != xType.getElementType())
    return op.emitOpError("(C5) expects dy to be ")
           << RankedTensorType::get(shape, xType.getElementType()) << ", found " << yType;
  return success();
}

LogicalResult ConvolutionBackwardDataOp::verify() {
  return verifyBackward(*this, getDx(), getW(), getDy());
}
LogicalResult ConvolutionBackwardFilterOp::verify() {
  return verifyBackward(*this, getX(), getDw(), getDy());
}

//===------------------------------------------------------------------------------------------===//
// Pooling
//===------------------------------------------------------------------------------------------===//

template <typename Op> static WindowGeometry windowGeometry(Op op, Value x, Value y) {
  RankedTensorType xType = tensorType(x), yType = tensorType(y);
  WindowSettings window = settingsOf(op, op.getKernel());
  WindowGeometry geometry;
  geometry.batch = xType.getDimSize(0);
  geometry.channels = xType.getDimSize(1);
  for (int64_t i = 2; i < xType.getRank(); ++i)
    geometry.axes.push_back(window.axis(i - 2, xType.getDimSize(i), yType.getDimSize(i)));
  return geometry;
}

WindowGeometry MaxPoolOp::getGeometry() { return windowGeometry(*this, getX(), getY()); }
WindowGeometry MaxPoolBackwardOp::getGeometry() { return windowGeometry(*this, getDx(), getDy()); }
WindowGeometry MaxPoolGatherOp::getGeometry() { return windowGeometry(*this, getX(), getY()); }
WindowGeometry AveragePoolOp::getGeometry() { return windowGeometry(*this, getX(), getY()); }
WindowGeometry AveragePoolBackwardOp::getGeometry() {
  return windowGeometry(*this, getDx(), getDy());
}

/// Whether `axis.output` is the floor size, or the ceil size with the last window starting inside.
static bool isPooledSize(const WindowAxis &axis) {
  int64_t room = axis.input + axis.low + axis.high - axis.extent();
  if (room < 0)
    return false;
  if (axis.output == axis.floorOutput())
    return true;
  return room % axis.stride != 0 && axis.output == axis.floorOutput() + 1 &&
         (axis.output - 1) * axis.stride - axis.low < axis.input;
}

/// (C1), (C2) and (C4) of the pooling ops, x being the larger side.
template <typename Op> static LogicalResult verifyWindow(Op op, Value x, Value y) {
  RankedTensorType xType = tensorType(x), yType = tensorType(y);
  int64_t rank = xType.getRank(), spatial = rank - 2;
  if (rank < 3 || rank > 5 || yType.getRank() != rank ||
      xType.getShape().take_front(2) != yType.getShape().take_front(2) ||
      xType.getElementType() != yType.getElementType())
    return op.emitOpError("(C1) expects equal ranks from 3 to 5, batch, channels and element "
                          "types, found ")
           << xType << " and " << yType;
  if (int64_t(op.getKernel().size()) != spatial || int64_t(op.getStrides().size()) != spatial ||
      int64_t(op.getDilations().size()) != spatial ||
      int64_t(op.getPadding().size()) != 2 * spatial || !allWithin(op.getKernel(), 1) ||
      !allWithin(op.getStrides(), 1) || !allWithin(op.getDilations(), 1) ||
      !allWithin(op.getPadding(), 0))
    return op.emitOpError("(C2) expects ")
           << spatial << " kernel sizes, strides and dilations of at least 1 and " << 2 * spatial
           << " paddings of at least 0, all below 2^31";
  for (auto [i, axis] : llvm::enumerate(windowGeometry(op, x, y).axes)) {
    if (axis.low >= axis.extent() || axis.high >= axis.extent())
      return op.emitOpError("(C2) on spatial axis ")
             << i << " the padding " << axis.low << ", " << axis.high
             << " is not below the window's extent " << axis.extent();
    if (!isPooledSize(axis))
      return op.emitOpError("(C4) on spatial axis ")
             << i << " a window of extent " << axis.extent() << " and stride " << axis.stride
             << " over " << axis.input << " elements padded by " << axis.low << ", " << axis.high
             << " cannot give " << axis.output;
  }
  return success();
}

/// (C3) and (C5): an index for every output, in a byte.
template <typename Op> static LogicalResult verifyIndex(Op op, Value index, Value y) {
  if (!index)
    return success();
  if (op.getGeometry().kernelSize() > mostIndexed)
    return op.emitOpError("(C3) the index of a window of ")
           << op.getGeometry().kernelSize() << " elements does not fit a byte";
  if (tensorType(index).getShape() != tensorType(y).getShape())
    return op.emitOpError("(C5) expects the index to have the shape of ")
           << y.getType() << ", found " << index.getType();
  return success();
}

LogicalResult MaxPoolOp::verify() {
  return failed(verifyWindow(*this, getX(), getY())) ? failure()
                                                     : verifyIndex(*this, getIndex(), getY());
}
LogicalResult MaxPoolBackwardOp::verify() {
  return failed(verifyWindow(*this, getDx(), getDy())) ? failure()
                                                       : verifyIndex(*this, getIndex(), getDy());
}
LogicalResult MaxPoolGatherOp::verify() {
  return failed(verifyWindow(*this, getX(), getY())) ? failure()
                                                     : verifyIndex(*this, getIndex(), getY());
}
LogicalResult AveragePoolOp::verify() { return verifyWindow(*this, getX(), getY()); }
LogicalResult AveragePoolBackwardOp::verify() { return verifyWindow(*this, getDx(), getDy()); }

std::array<int64_t, 3> SlidingSumOp::getExtents() {
  ArrayRef<int64_t> shape = tensorType(getX()).getShape();
  return {llvm::product_of(shape.take_front(getAxis())), shape[getAxis()],
          llvm::product_of(shape.drop_front(getAxis() + 1))};
}

LogicalResult SlidingSumOp::verify() {
  RankedTensorType x = tensorType(getX());
  const int64_t axis = getAxis();
  if (axis < 0 || axis >= x.getRank())
    return emitOpError("(C1) has axis ") << axis << " for rank " << x.getRank();
  for (int64_t side : {getBefore(), getAfter()})
    if (side < 0 || side > x.getDimSize(axis))
      return emitOpError("(C2) sums up to ") << side << " elements on one side, for "
                                             << x.getDimSize(axis) << " along axis " << axis;
  return success();
}

//===------------------------------------------------------------------------------------------===//
// Losses and metrics over classes
//===------------------------------------------------------------------------------------------===//

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
