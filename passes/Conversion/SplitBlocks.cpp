//===- SplitBlocks.cpp - see SplitBlocks.h ----------------------------------------------------===//
#include "passes/Conversion/SplitBlocks.h"
#include "dialects/DL/DLConstantOps.h"
#include "dialects/DL/DLElementwiseOps.h"
#include "dialects/DL/DLFusedOps.h"
#include "dialects/DL/DLIndexOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc {

namespace {
class BlockSplitter {
public:
  explicit BlockSplitter(Block &body) : body(body) {}

  /// Finds the blocks, and the axis of each value that they are of.
  bool find();
  void rewrite();

private:
  bool findLayout();
  bool mark(Value value, int64_t axis);
  bool markOthers(Operation &op);
  bool markAll(ValueRange values, int64_t axis) {
    return llvm::all_of(values, [&](Value value) { return mark(value, axis); });
  }
  std::optional<int64_t> axisOf(Value value) const {
    auto found = axes.find(value);
    return found == axes.end() ? std::nullopt : std::optional(found->second);
  }
  bool markReduction(dl::ReductionOp op);
  bool markBroadcast(dl::BroadcastOp op);
  RankedTensorType split(Value value) const;
  void rewrite(Operation &op);
  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  Block &body;
  program::LayoutAttr blocked, permuted; ///< what the tensors have, and what they get
  int64_t size = 1;
  llvm::MapVector<Value, int64_t> axes;
  SmallVector<Value> pending; ///< marked, while those beside them are not yet
};
} // namespace

SmallVector<Value> storedValues(Block &body) {
  SmallVector<Value> values(body.getArguments());
  llvm::append_range(values, body.getTerminator()->getOperands());
  return values;
}

SmallVector<int64_t> keptAxes(dl::ReductionOp reduction) {
  const int64_t rank = cast<RankedTensorType>(reduction.getReduced().getType()).getRank();
  SmallVector<int64_t> kept;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(reduction.getReducedAxes(), axis))
      kept.push_back(axis);
  return kept;
}

/// The axis at whose place `axis` stands when `split` has become two.
static int64_t behindSplit(int64_t axis, int64_t split) { return axis > split ? axis + 1 : axis; }

/// Those of the axes after the split, the parts of the split one beside each other.
static SmallVector<int64_t> axesBehindSplit(ArrayRef<int64_t> axes, int64_t split) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    result.push_back(behindSplit(axis, split));
    if (axis == split)
      result.push_back(axis + 1);
  }
  return result;
}

/// One layout with one block, in all stored tensors that have a layout.
bool BlockSplitter::findLayout() {
  const SmallVector<Value> outer = storedValues(body);
  for (Value value : outer)
    if (auto layout = dyn_cast_or_null<program::LayoutAttr>(typeOf(value).getEncoding())) {
      if (layout.getBlocks().size() != 2 || (blocked && blocked != layout))
        return false;
      blocked = layout;
    }
  if (!blocked)
    return false;
  const int64_t axis = blocked.getBlocks()[0];
  size = blocked.getBlocks()[1];
  SmallVector<int64_t> order = llvm::map_to_vector(
      blocked.getOrder(), [&](int64_t each) { return behindSplit(each, axis); });
  order.push_back(axis + 1);
  permuted = program::LayoutAttr::get(body.getParentOp()->getContext(), order, {});
  return llvm::all_of(outer, [&](Value value) {
    return typeOf(value).getEncoding() != blocked || mark(value, axis);
  });
}

bool BlockSplitter::mark(Value value, int64_t axis) {
  auto [place, isNew] = axes.insert({value, axis});
  if (isNew)
    pending.push_back(value);
  const int64_t extent = typeOf(value).getDimSize(axis);
  return place->second == axis && (extent == 1 || extent % size == 0);
}

bool BlockSplitter::markReduction(dl::ReductionOp op) {
  const SmallVector<int64_t> kept = keptAxes(op);
  for (Value result : op->getResults())
    if (std::optional<int64_t> axis = axisOf(result); axis && !mark(op.getReduced(), kept[*axis]))
      return false;
  std::optional<int64_t> axis = axisOf(op.getReduced());
  auto place = axis ? llvm::find(kept, *axis) : kept.end();
  return place == kept.end() || markAll(op->getResults(), place - kept.begin());
}

bool BlockSplitter::markBroadcast(dl::BroadcastOp op) {
  if (std::optional<int64_t> axis = axisOf(op.getX());
      axis && !mark(op.getY(), op.getDims()[*axis]))
    return false;
  std::optional<int64_t> axis = axisOf(op.getY());
  auto place = axis ? llvm::find(op.getDims(), *axis) : op.getDims().end();
  return place == op.getDims().end() || mark(op.getX(), place - op.getDims().begin());
}

/// What a mark on one of the op's values says of the others; false if the op knows its axes.
bool BlockSplitter::markOthers(Operation &op) {
  std::optional<int64_t> axis;
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op.getOperands()),
                                         SmallVector<Value>(op.getResults())))
    axis = axis ? axis : axisOf(value);
  if (!axis)
    return true;
  auto sameEverywhere = [&](auto) {
    return markAll(op.getOperands(), *axis) && markAll(op.getResults(), *axis);
  };
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case<dl::ElementwiseOp, dl::ConstantOp, dl::ConcatOp, dl::WindowOp>(sameEverywhere)
      .Case([](dl::YieldOp) { return true; })
      .Case([&](dl::BroadcastOp broadcast) { return markBroadcast(broadcast); })
      .Case([&](dl::ReductionOp reduction) { return markReduction(reduction); })
      .Default(false);
}

bool BlockSplitter::find() {
  if (!findLayout())
    return false;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (Operation *op = value.getDefiningOp(); op && !markOthers(*op))
      return false;
    for (Operation *user : value.getUsers())
      if (!markOthers(*user))
        return false;
  }
  return true;
}

RankedTensorType BlockSplitter::split(Value value) const {
  RankedTensorType type = typeOf(value);
  const int64_t axis = *axisOf(value), extent = type.getDimSize(axis);
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = extent == 1 ? 1 : extent / size;
  shape.insert(shape.begin() + axis + 1, extent == 1 ? 1 : size);
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding() == blocked ? permuted : nullptr);
}

/// Before the types of its values change.
void BlockSplitter::rewrite(Operation &op) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](dl::BroadcastOp broadcast) {
        if (std::optional<int64_t> axis = axisOf(broadcast.getY()))
          broadcast.setDims(axesBehindSplit(broadcast.getDims(), *axis));
      })
      .Case([&](dl::ReductionOp reduction) {
        if (std::optional<int64_t> axis = axisOf(reduction.getReduced()))
          reduction.setReducedAxes(axesBehindSplit(reduction.getReducedAxes(), *axis));
      })
      .Case([&](dl::ConcatOp concat) {
        if (std::optional<int64_t> axis = axisOf(concat.getY()))
          concat.setAxis(behindSplit(concat.getAxis(), *axis));
      })
      .Case([&](dl::WindowOp window) {
        // The inner part of the channels is an axis more to slide along, by one element.
        auto windowAxes = window.getGeometry().axes;
        dl::WindowAxis none;
        windowAxes.insert(windowAxes.begin(), none);
        window.setWindow(windowAxes);
      })
      .Case([&](dl::ConstantOp constant) {
        if (axisOf(constant.getResult()))
          constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue())
                                    .resizeSplat(split(constant.getResult())));
      });
}

void BlockSplitter::rewrite() {
  for (Operation &op : body)
    rewrite(op);
  for (auto [value, axis] : axes)
    value.setType(split(value));
}

bool splitBlocks(Block &body) {
  BlockSplitter splitter(body);
  if (!splitter.find())
    return false;
  splitter.rewrite();
  return true;
}

} // namespace dlc
