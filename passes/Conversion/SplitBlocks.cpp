//===- SplitBlocks.cpp - see SplitBlocks.h ----------------------------------------------------===//
#include "passes/Conversion/SplitBlocks.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "llvm/ADT/MapVector.h"

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
  bool markOthers(Operation &op, Value value, int64_t axis);
  std::optional<int64_t> axisOf(Value value) const {
    auto found = axes.find(value);
    return found == axes.end() ? std::nullopt : std::optional(found->second);
  }
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

/// The axis at whose place `axis` stands when `split` has become two.
static int64_t behindSplit(int64_t axis, int64_t split) { return axis > split ? axis + 1 : axis; }

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

/// Marks what runs along axis `axis` of `value`, one of the op's; false if the op knows its axes.
bool BlockSplitter::markOthers(Operation &op, Value value, int64_t axis) {
  auto marks = [&](const dl::ValueAxis &other) { return mark(other.value, other.axis); };
  if (auto splittable = dyn_cast<dl::SplittableOp>(op)) {
    auto others = splittable.getAxesAlong(value, axis);
    return others && llvm::all_of(*others, marks);
  }
  auto marksSame = [&](Value other) { return mark(other, axis); };
  if (isa<dl::ElementwiseOp>(op))
    return llvm::all_of(op.getOperands(), marksSame) && llvm::all_of(op.getResults(), marksSame);
  return isa<dl::ConstantOp>(op) || op.hasTrait<OpTrait::IsTerminator>();
}

bool BlockSplitter::find() {
  if (!findLayout())
    return false;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    const int64_t axis = *axisOf(value);
    if (Operation *op = value.getDefiningOp(); op && !markOthers(*op, value, axis))
      return false;
    for (Operation *user : value.getUsers())
      if (!markOthers(*user, value, axis))
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
  if (auto splittable = dyn_cast<dl::SplittableOp>(op))
    splittable.splitAxes([&](Value value) { return axisOf(value); });
  if (auto constant = dyn_cast<dl::ConstantOp>(op); constant && axisOf(constant.getResult()))
    constant.setValueAttr(
        cast<SplatElementsAttr>(constant.getValue()).resizeSplat(split(constant.getResult())));
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
