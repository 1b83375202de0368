//===- DLPoolingOps.cpp - geometry, inference and verification of windows ---------------------===//
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/Shapes.h"
#include "dialects/DL/Ops/WindowSettings.h"

using namespace mlir;
using namespace dlc::dl;

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

/// (C3) and (C5): an index for every output, with room for each element of the window.
template <typename Op> static LogicalResult verifyIndex(Op op, Value index, Value y) {
  if (!index)
    return success();
  const unsigned bits = getElementTypeOrSelf(index).getIntOrFloatBitWidth();
  if (op.getGeometry().kernelSize() > int64_t(1) << bits)
    return op.emitOpError("(C3) the index of a window of ")
           << op.getGeometry().kernelSize() << " elements does not fit "
           << (bits == 8 ? std::string("a byte") : std::to_string(bits) + " bits");
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
