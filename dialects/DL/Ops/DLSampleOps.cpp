//===- DLSampleOps.cpp - inference and verification of samples --------------------------------===//
#include "dialects/DL/Ops/DLSampleOps.h"

using namespace mlir;
using namespace dlc::dl;

/// The type of y for x and a grid; null where a constraint is violated, which `error` names.
static RankedTensorType sampledType(Type image, Type places, std::string &error) {
  auto x = cast<RankedTensorType>(image), grid = cast<RankedTensorType>(places);
  llvm::raw_string_ostream os(error);
  if (x.getRank() != 4 || grid.getRank() != 4 || grid.getDimSize(3) != 2 ||
      x.getDimSize(0) != grid.getDimSize(0) || x.getElementType() != grid.getElementType()) {
    os << "(C1) expects [N, C, H, W] and a grid [N, P, Q, 2] of its element type, found '" << x
       << "' and '" << grid << "'";
    return {};
  }
  if (x.getDimSize(2) * x.getDimSize(3) == 0) {
    os << "(C2) expects pixels, found '" << x << "'";
    return {};
  }
  return RankedTensorType::get(
      {x.getDimSize(0), x.getDimSize(1), grid.getDimSize(1), grid.getDimSize(2)},
      x.getElementType());
}

template <typename Op> static LogicalResult verifySample(Op op, Type x, Value grid, Value y) {
  std::string error;
  RankedTensorType type = sampledType(x, grid.getType(), error);
  if (!type)
    return op.emitOpError(error);
  auto found = cast<RankedTensorType>(y.getType());
  if (found.getShape() != type.getShape() || found.getElementType() != type.getElementType())
    return op.emitOpError("(C1) expects ") << type << " of the grid's places, found " << found;
  if (op.getBorder() && op.getReflect())
    return op.emitOpError("(C3) is both border and reflect");
  return success();
}

LogicalResult GridSampleOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                             ValueRange operands, DictionaryAttr attributes,
                                             OpaqueProperties properties, RegionRange regions,
                                             SmallVectorImpl<Type> &results) {
  std::string error;
  RankedTensorType type = sampledType(operands[0].getType(), operands[1].getType(), error);
  if (!type)
    return emitOptionalError(location, getOperationName(), ": ", error);
  results.push_back(type);
  return success();
}

LogicalResult GridSampleOp::verify() {
  return verifySample(*this, getX().getType(), getGrid(), getY());
}
LogicalResult GridSampleBackwardImageOp::verify() {
  return verifySample(*this, getDx().getType(), getGrid(), getDy());
}
LogicalResult GridSampleBackwardGridOp::verify() {
  return verifySample(*this, getX().getType(), getGrid(), getDy());
}
