//===- DLConstantOps.cpp - constants and numbers of places ------------------------------------===//
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/Shapes.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace dlc::dl;

OpFoldResult ConstantOp::fold(FoldAdaptor adaptor) { return getValue(); }

ConstantOp ConstantOp::createSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                                   double value) {
  Type element = type.getElementType();
  Attribute number = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, value))
                                             : builder.getIntegerAttr(element, int64_t(value));
  return create(builder, loc, type, DenseElementsAttr::get(type, number));
}

LogicalResult IotaOp::verify() {
  RankedTensorType type = tensorType(getResult());
  ArrayRef<int64_t> space = getSpace().value_or(type.getShape());
  llvm::SmallBitVector seen(space.size());
  for (int64_t axis : getAxes()) {
    if (axis < 0 || axis >= int64_t(space.size()))
      return emitOpError("(C1) has axis ") << axis << ", but rank " << space.size();
    if (seen.test(axis))
      return emitOpError("(C1) has axis ") << axis << " twice";
    seen.set(axis);
  }
  if (llvm::product_of(space) != type.getNumElements())
    return emitOpError("(C2) has a space of ")
           << llvm::product_of(space) << " elements for " << type;
  return success();
}

SmallVector<IndexMap> IotaOp::getIndexMaps() {
  ArrayRef<int64_t> space = getSpace().value_or(tensorType(getResult()).getShape());
  SmallVector<IndexMap::Axis> numbered;
  for (int64_t axis : getAxes())
    numbered.push_back({space[axis], axis});
  return {IndexMap::get(space, numbered)};
}

/// It has no operand that could be turned.
bool IotaOp::keepsOrder() { return true; }

FailureOr<NamedAttrList> IotaOp::permuteAxes(ArrayRef<int64_t>, ArrayRef<int64_t> resultOrder) {
  if (getSpace())
    return failure();
  Builder builder(getContext());
  return NamedAttrList(builder.getNamedAttr(
      getAxesAttrName(), builder.getDenseI64ArrayAttr(placesOf(getAxes(), resultOrder))));
}
