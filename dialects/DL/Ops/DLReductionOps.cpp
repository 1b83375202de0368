//===- DLReductionOps.cpp - reductions, their rows, and sums over ranks -----------------------===//
#include "dialects/DL/Ops/DLReductionOps.h"
#include "dialects/DL/Facts/Rows.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/Shapes.h"
#include "dialects/Program/Layout.h"

using namespace mlir;
using namespace dlc::dl;

/// The type of what is left of `x` without `axes`. `what` is empty for an op that takes empty axes,
/// else its name for the message. Null after an error.
static RankedTensorType dropAxes(std::optional<Location> location, StringRef op, StringRef what,
                                 RankedTensorType x, ArrayRef<int64_t> axes) {
  if (!areAxes(axes, x.getRank())) {
    (void)emitOptionalError(location, op, ": (C1) expects rising axes below ", x.getRank(),
                            ", found [", axes, "]");
    return {};
  }
  SmallVector<int64_t> shape;
  for (auto [axis, size] : llvm::enumerate(x.getShape())) {
    bool reduced = llvm::is_contained(axes, int64_t(axis));
    if (reduced && size == 0 && !what.empty()) {
      (void)emitOptionalError(location, op, ": (C2) ", what, " over axis ", axis,
                              ", which is empty");
      return {};
    }
    if (!reduced)
      shape.push_back(size);
  }
  return RankedTensorType::get(shape, x.getElementType());
}

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  ReduceKind kind = adaptor.getKind();
  StringRef what = kind == ReduceKind::Sum ? "" : stringifyReduceKind(kind);
  results.push_back(
      dropAxes(location, getOperationName(), what, tensorType(operands[0]), adaptor.getAxes()));
  return success(results.back() != nullptr);
}

bool dlc::dl::shareLoops(ReductionOp a, ReductionOp b) {
  return tensorType(a.getReduced()).getShape() == tensorType(b.getReduced()).getShape() &&
         a.getReducedAxes() == b.getReducedAxes();
}

std::optional<Rows> dlc::dl::rowsOf(ReductionOp op) {
  RankedTensorType type = tensorType(op.getReduced());
  int64_t next = type.getRank() - int64_t(op.getReducedAxes().size());
  Rows rows{1, 1};
  for (int64_t axis : op.getReducedAxes()) {
    if (axis != next++)
      return std::nullopt;
    rows.length *= type.getDimSize(axis);
  }
  rows.count = llvm::product_of(type.getShape().drop_back(op.getReducedAxes().size()));
  return rows.length > 1 && rows.count > 0 ? std::optional(rows) : std::nullopt;
}

std::optional<Rows> dlc::dl::cachedRowsOf(ReductionOp op, int64_t mostBytes) {
  std::optional<Rows> rows = rowsOf(op);
  const int64_t bytes = dlc::program::elementBytes(tensorType(op.getReduced()).getElementType());
  return rows && rows->length * bytes <= mostBytes ? rows : std::nullopt;
}

bool dlc::dl::spreadsOverRows(IndexOp op, Rows rows) {
  if (op->getNumOperands() != 1 || tensorType(op->getOperand(0)).getNumElements() != rows.count ||
      tensorType(op->getResult(0)).getNumElements() != rows.count * rows.length)
    return false;
  // The operand's axes are the result's first ones; what is left of the result is a row.
  const IndexMap map = op.getIndexMaps().front();
  for (auto [number, axis] : llvm::enumerate(map.operand))
    if (axis.from != int64_t(number) || !map.isWhole(axis))
      return false;
  return true;
}

LogicalResult MomentsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  results.assign(2, dropAxes(location, getOperationName(), "mean", tensorType(operands[0]),
                             adaptor.getAxes()));
  return success(results.back() != nullptr);
}

void AllReduceOp::build(OpBuilder &builder, OperationState &state, ValueRange xs, int64_t channel,
                        ArrayAttr of) {
  build(builder, state, TypeRange(xs), dlc::program::CollectiveKind::Sum, xs, channel, of,
        FloatAttr());
}

LogicalResult AllReduceOp::verify() {
  if (getOf() && getOf()->size() != getXs().size())
    return emitOpError("(C3) names ")
           << getOf()->size() << " parameters for " << getXs().size() << " tensors";
  if (getKind() == dlc::program::CollectiveKind::Sum || getXs().empty())
    return success();
  Type element = getElementTypeOrSelf(getXs().front());
  if (!element.isF32())
    return emitOpError("(C4) compresses f32, found ") << element;
  return success();
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(location, getOperationName(), ": (C1) has nothing to reduce");
  Type first = operands.front().getType();
  for (Type type : operands.getTypes())
    if (getElementTypeOrSelf(type) != getElementTypeOrSelf(first))
      return emitOptionalError(location, getOperationName(),
                               ": (C1) expects one element type, found ", type, " beside ", first);
  if (adaptor.getChannel() > 1)
    return emitOptionalError(location, getOperationName(), ": (C2) is on channel ",
                             adaptor.getChannelAttr().getInt(), ", expected 0 or 1");
  llvm::append_range(results, operands.getTypes());
  return success();
}
