//===- ConvolutionForm.cpp - a convolution in whichever direction it runs ---------------------===//
#include "dialects/DL/Facts/ConvolutionForm.h"
#include "dialects/DL/Ops/DLConvolutionOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::dl {

ConvolutionForm ConvolutionForm::get(Operation *op) {
  return llvm::TypeSwitch<Operation *, ConvolutionForm>(op)
      .Case([](ConvolutionOp op) {
        return ConvolutionForm{Direction::Forward, op.getGeometry(), op.getX(),
                               op.getW(),          op.getY(),        op.getWishAttr()};
      })
      .Case([](ConvolutionBackwardDataOp op) {
        return ConvolutionForm{
            Direction::BackwardData, op.getGeometry(), op.getDx(), op.getW(), op.getDy(),
            op.getWishAttr()};
      })
      .Case([](ConvolutionBackwardFilterOp op) {
        return ConvolutionForm{
            Direction::BackwardFilter, op.getGeometry(), op.getX(), op.getDw(), op.getDy(),
            op.getWishAttr()};
      });
}

ConvolutionAlgorithm ConvolutionForm::wishedAlgorithm() const {
  if (!wish)
    return ConvolutionAlgorithm::Heuristic;
  switch (direction) {
  case Direction::Forward:
    return wish.getForward();
  case Direction::BackwardData:
    return wish.getBackwardData();
  case Direction::BackwardFilter:
    return wish.getBackwardFilter();
  }
}

static SmallVector<int64_t> withSpace(int64_t outer, int64_t channels,
                                      const ConvolutionGeometry &geometry,
                                      int64_t WindowAxis::*extent) {
  SmallVector<int64_t> shape = {outer, channels};
  llvm::append_range(shape, geometry.ofThreeAxes(extent));
  return shape;
}

SmallVector<int64_t> ConvolutionForm::xShape() const {
  return withSpace(geometry.batch, geometry.channels, geometry, &WindowAxis::input);
}

SmallVector<int64_t> ConvolutionForm::wShape() const {
  return withSpace(geometry.filters, geometry.channels / geometry.groups, geometry,
                   &WindowAxis::kernel);
}

SmallVector<int64_t> ConvolutionForm::yShape() const {
  return withSpace(geometry.batch, geometry.filters, geometry, &WindowAxis::output);
}

} // namespace dlc::dl
