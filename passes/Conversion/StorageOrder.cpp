//===- StorageOrder.cpp - see StorageOrder.h --------------------------------------------------===//
#include "passes/Conversion/StorageOrder.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include "passes/Conversion/SplitBlocks.h"

using namespace mlir;

namespace dlc {

namespace {
class StorageOrder {
public:
  /// `transposes`: whether row-major tensors may be transposed.
  StorageOrder(Block &body, bool transposes) : body(body), transposes(transposes) {}

  /// Finds the order, and whether every op can be written in it.
  bool find();
  void rewrite();

private:
  bool findLayout();
  void setOrder(ArrayRef<int64_t> axes);
  void keepWindowsAxes();
  bool accepts(Operation &op) const;
  FailureOr<NamedAttrList> permuted(Operation &op) const;
  bool hasRank(Value value) const {
    return typeOf(value).getRank() == static_cast<int64_t>(order.size());
  }
  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
  RankedTensorType stored(Value value) const;
  /// Places of logical axes, in the order of `axes`.
  SmallVector<int64_t> placesOf(ArrayRef<int64_t> axes) const;
  bool isRowMajor(Value value) const { return hasRank(value) && !typeOf(value).getEncoding(); }
  void rewrite(Operation &op);

  Block &body;
  const bool transposes;
  SmallVector<int64_t> order, place; ///< order[i]: the logical axis at place i; and back
  program::LayoutAttr left;          ///< what stored tensors that had one still have; null: none
};
} // namespace

/// One permutation for all operands and results of its rank.
bool StorageOrder::findLayout() {
  const SmallVector<Value> outer = storedValues(body);
  program::LayoutAttr layout;
  for (Value value : outer)
    if (auto encoding = dyn_cast_or_null<program::LayoutAttr>(typeOf(value).getEncoding())) {
      if (!encoding.getBlocks().empty() || (layout && layout != encoding))
        return false;
      layout = encoding;
    }
  if (!layout)
    return false;
  setOrder(layout.getOrder());
  keepWindowsAxes();
  return llvm::all_of(outer, [&](Value value) {
    return !hasRank(value) || typeOf(value).getEncoding() == layout ||
           (transposes && isRowMajor(value));
  });
}

void StorageOrder::setOrder(ArrayRef<int64_t> axes) {
  order.assign(axes.begin(), axes.end());
  place.resize(order.size());
  for (auto [i, axis] : llvm::enumerate(order))
    place[axis] = i;
}

/// Channels in lines may lie behind the pixels, but windows have their second axis in front of
/// them: there only the lines change their place, and the rest is left to the layout.
void StorageOrder::keepWindowsAxes() {
  if (!transposes || order[0] != 0 || order[1] == 1 ||
      llvm::none_of(body, [](Operation &op) { return isa<dl::WindowOp>(op); }))
    return;
  const SmallVector<int64_t> memory = order;
  SmallVector<int64_t> axes = {0, 1};
  llvm::copy_if(memory, std::back_inserter(axes), [](int64_t axis) { return axis > 1; });
  setOrder(axes);
  left = program::LayoutAttr::get(body.getParentOp()->getContext(), placesOf(memory), {});
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
  // The spatial axes may change places, if those along which a window is longer than one do not.
  if (auto window = dyn_cast<dl::WindowOp>(op)) {
    SmallVector<int64_t> longer;
    for (auto [i, axis] : llvm::enumerate(window.getGeometry().axes))
      if (axis.kernel > 1)
        longer.push_back(place[i + 2]);
    return place[0] == 0 && place[1] == 1 && llvm::is_sorted(longer);
  }
  auto reduction = dyn_cast<dl::ReductionOp>(op);
  if (!reduction || !hasRank(reduction.getReduced()))
    return reduction && !hasRank(op.getResult(0));
  // What is kept must keep its order.
  const SmallVector<int64_t> kept = reduction.getKeptAxes();
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
  return RankedTensorType::get(shape, type.getElementType(), type.getEncoding() ? left : nullptr);
}

void StorageOrder::rewrite(Operation &op) {
  if (auto convert = dyn_cast<dl::ConvertLayoutOp>(op); convert && !left) {
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
  if (auto window = dyn_cast<dl::WindowOp>(op)) {
    SmallVector<dl::WindowAxis> axes;
    for (int64_t axis : ArrayRef(order).drop_front(2))
      axes.push_back(window.getGeometry().axes[axis - 2]);
    window.setWindow(axes);
  }
  if (isa<dl::IndexOp>(op))
    for (NamedAttribute attribute : *permuted(op))
      op.setAttr(attribute.getName(), attribute.getValue());
  for (Value result : op.getResults()) {
    if (!hasRank(result))
      continue;
    RankedTensorType type = stored(result);
    if (auto constant = dyn_cast<dl::ConstantOp>(op))
      constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
    result.setType(type);
  }
}

void StorageOrder::rewrite() {
  SmallVector<Operation *> inside;
  for (Operation &op : body)
    inside.push_back(&op);
  Operation *yield = body.getTerminator();
  Location loc = yield->getLoc();
  SmallVector<OpOperand *> rowMajorResults;
  for (OpOperand &yielded : yield->getOpOperands())
    if (isRowMajor(yielded.get()))
      rowMajorResults.push_back(&yielded);
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (BlockArgument argument : body.getArguments())
    if (isRowMajor(argument)) {
      auto turned = dl::TransposeOp::create(builder, loc, argument, order);
      argument.replaceAllUsesExcept(turned, turned);
    } else if (hasRank(argument)) {
      argument.setType(stored(argument));
    }
  for (Operation *op : inside)
    rewrite(*op);
  builder.setInsertionPoint(yield);
  for (OpOperand *yielded : rowMajorResults)
    yielded->set(dl::TransposeOp::create(builder, loc, yielded->get(), place));
}

void adoptStorageOrder(Block &body) {
  StorageOrder order(body, splitBlocks(body));
  if (order.find())
    order.rewrite();
}

} // namespace dlc
