//===- StorageOrder.cpp - see StorageOrder.h --------------------------------------------------===//
#include "passes/Conversion/StorageOrder.h"
#include "dialects/DL/DLConstantOps.h"
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLFusedOps.h"

using namespace mlir;

namespace dlc {

namespace {
class StorageOrder {
public:
  explicit StorageOrder(Block &body) : body(body) {}

  /// Finds the order, and whether every op can be written in it.
  bool find();
  void rewrite();

private:
  bool findLayout();
  bool accepts(Operation &op) const;
  FailureOr<NamedAttrList> permuted(Operation &op) const;
  bool hasRank(Value value) const {
    return typeOf(value).getRank() == static_cast<int64_t>(order.size());
  }
  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
  RankedTensorType stored(Value value) const;
  /// Places of logical axes, in the order of `axes`.
  SmallVector<int64_t> placesOf(ArrayRef<int64_t> axes) const;
  void rewrite(Operation &op);

  Block &body;
  SmallVector<int64_t> order, place; ///< order[i]: the logical axis at place i; and back
};
} // namespace

/// One permutation for all operands and results of its rank.
bool StorageOrder::findLayout() {
  SmallVector<Value> outer(body.getArguments());
  llvm::append_range(outer, body.getTerminator()->getOperands());
  program::LayoutAttr layout;
  for (Value value : outer)
    if (auto encoding = dyn_cast_or_null<program::LayoutAttr>(typeOf(value).getEncoding())) {
      if (!encoding.getBlocks().empty() || (layout && layout != encoding))
        return false;
      layout = encoding;
    }
  if (!layout)
    return false;
  order.assign(layout.getOrder().begin(), layout.getOrder().end());
  place.resize(order.size());
  for (auto [i, axis] : llvm::enumerate(order))
    place[axis] = i;
  return llvm::all_of(
      outer, [&](Value value) { return !hasRank(value) || typeOf(value).getEncoding() == layout; });
}

SmallVector<int64_t> StorageOrder::placesOf(ArrayRef<int64_t> axes) const {
  return llvm::map_to_vector(axes, [&](int64_t axis) { return place[axis]; });
}

/// The attributes of an index op between stored tensors.
FailureOr<NamedAttrList> StorageOrder::permuted(Operation &op) const {
  auto orderOf = [&](Value value) {
    return hasRank(value) ? order : llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  };
  SmallVector<int64_t> operandOrder;
  for (Value operand : op.getOperands())
    operandOrder = orderOf(operand);
  return cast<dl::IndexOp>(op).permuteAxes(operandOrder, orderOf(op.getResult(0)));
}

bool StorageOrder::accepts(Operation &op) const {
  if (isa<dl::ElementwiseOp, dl::ConstantOp, dl::YieldOp>(op))
    return true;
  if (isa<dl::IndexOp>(op))
    return succeeded(permuted(op));
  auto reduction = dyn_cast<dl::ReductionOp>(op);
  if (!reduction || !hasRank(reduction.getReduced()))
    return reduction && !hasRank(op.getResult(0));
  // What is kept must keep its order.
  SmallVector<int64_t> kept;
  for (size_t axis = 0; axis < order.size(); ++axis)
    if (!llvm::is_contained(reduction.getReducedAxes(), axis))
      kept.push_back(axis);
  return kept.size() < order.size() && llvm::is_sorted(placesOf(kept));
}

bool StorageOrder::find() {
  return findLayout() && llvm::all_of(body, [&](Operation &op) { return accepts(op); });
}

RankedTensorType StorageOrder::stored(Value value) const {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape;
  for (int64_t axis : order)
    shape.push_back(type.getDimSize(axis));
  return RankedTensorType::get(shape, type.getElementType());
}

void StorageOrder::rewrite(Operation &op) {
  if (auto convert = dyn_cast<dl::ConvertLayoutOp>(op)) {
    convert.replaceAllUsesWith(convert.getX());
    convert.erase();
    return;
  }
  if (auto reduction = dyn_cast<dl::ReductionOp>(op);
      reduction && hasRank(reduction.getReduced())) {
    SmallVector<int64_t> axes = placesOf(reduction.getReducedAxes());
    llvm::sort(axes);
    reduction.setReducedAxes(axes);
  }
  if (isa<dl::IndexOp>(op))
    for (NamedAttribute attribute : *permuted(op))
      op.setAttr(attribute.getName(), attribute.getValue());
  if (op.getNumResults() == 0 || !hasRank(op.getResult(0)))
    return;
  RankedTensorType type = stored(op.getResult(0));
  if (auto constant = dyn_cast<dl::ConstantOp>(op))
    constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  op.getResult(0).setType(type);
}

void StorageOrder::rewrite() {
  for (BlockArgument argument : body.getArguments())
    if (hasRank(argument))
      argument.setType(stored(argument));
  for (Operation &op : llvm::make_early_inc_range(body))
    rewrite(op);
}

void adoptStorageOrder(Block &body) {
  StorageOrder order(body);
  if (order.find())
    order.rewrite();
}

} // namespace dlc
