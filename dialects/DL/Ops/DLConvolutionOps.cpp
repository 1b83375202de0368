//===- DLConvolutionOps.cpp - geometry, inference and verification of convolutions ------------===//
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "dialects/DL/Ops/Shapes.h"
#include "dialects/DL/Ops/WindowSettings.h"

using namespace mlir;
using namespace dlc::dl;

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
