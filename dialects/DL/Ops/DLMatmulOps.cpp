//===- DLMatmulOps.cpp - types of products ----------------------------------------------------===//
#include "dialects/DL/Ops/DLMatmulOps.h"
#include "dialects/DL/Ops/Shapes.h"

using namespace mlir;
using namespace dlc::dl;

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType a = tensorType(operands[0]), b = tensorType(operands[1]);
  int64_t rank = a.getRank();
  if (rank < 2 || b.getRank() != rank || a.getShape().drop_back(2) != b.getShape().drop_back(2))
    return emitOptionalError(
        location, getOperationName(),
        ": (C1) expects equal ranks of at least 2 and equal batch axes, found ", a, " and ", b);
  int64_t innerA = a.getDimSize(adaptor.getTransposeA() ? rank - 2 : rank - 1);
  int64_t innerB = b.getDimSize(adaptor.getTransposeB() ? rank - 1 : rank - 2);
  if (innerA != innerB)
    return emitOptionalError(location, getOperationName(),
                             ": (C2) expects equal inner sizes, found ", innerA, " and ", innerB);
  if (a.getElementType() != b.getElementType())
    return emitOptionalError(location, getOperationName(),
                             ": (C3) expects equal element types, found ", a, " and ", b);
  SmallVector<int64_t> shape(a.getShape().drop_back(2));
  shape.push_back(a.getDimSize(adaptor.getTransposeA() ? rank - 1 : rank - 2));
  shape.push_back(b.getDimSize(adaptor.getTransposeB() ? rank - 2 : rank - 1));
  results.push_back(RankedTensorType::get(shape, a.getElementType()));
  return success();
}
