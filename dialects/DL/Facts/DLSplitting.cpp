//===- DLSplitting.cpp - which axes of an op are split together -------------------------------===//
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Ops/DLPoolingOps.h"
#include "dialects/DL/Ops/DLReductionOps.h"

using namespace mlir;
using namespace dlc::dl;

using AxesAlong = std::optional<SmallVector<ValueAxis>>;
using AxisOf = llvm::function_ref<std::optional<int64_t>(Value)>;

/// The number that `axis` has when `split` has become two.
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

static SmallVector<ValueAxis> allAt(Operation *op, int64_t axis) {
  SmallVector<ValueAxis> axes;
  for (Value value : op->getOperands())
    axes.push_back({value, axis});
  for (Value value : op->getResults())
    axes.push_back({value, axis});
  return axes;
}

//===------------------------------------------------------------------------------------------===//
// Index ops
//===------------------------------------------------------------------------------------------===//

AxesAlong BroadcastOp::getAxesAlong(Value value, int64_t axis) {
  if (value == getX())
    return {{{getY(), getDims()[axis]}}};
  auto place = llvm::find(getDims(), axis);
  if (place == getDims().end())
    return SmallVector<ValueAxis>();
  return {{{getX(), place - getDims().begin()}}};
}

void BroadcastOp::splitAxes(AxisOf axisOf) {
  if (std::optional<int64_t> axis = axisOf(getY()))
    setDims(axesBehindSplit(getDims(), *axis));
}

AxesAlong ConcatOp::getAxesAlong(Value, int64_t axis) { return allAt(*this, axis); }

void ConcatOp::splitAxes(AxisOf axisOf) {
  if (std::optional<int64_t> axis = axisOf(getY()))
    setAxis(behindSplit(getAxis(), *axis));
}

//===------------------------------------------------------------------------------------------===//
// Reductions
//===------------------------------------------------------------------------------------------===//

static AxesAlong reductionAlong(ReductionOp op, Value value, int64_t axis) {
  const SmallVector<int64_t> kept = op.getKeptAxes();
  if (value != op.getReduced())
    return {{{op.getReduced(), kept[axis]}}};
  SmallVector<ValueAxis> axes;
  if (auto place = llvm::find(kept, axis); place != kept.end())
    for (Value result : op->getResults())
      axes.push_back({result, place - kept.begin()});
  return axes;
}

static void splitReduction(ReductionOp op, AxisOf axisOf) {
  if (std::optional<int64_t> axis = axisOf(op.getReduced()))
    op.setReducedAxes(axesBehindSplit(op.getReducedAxes(), *axis));
}

AxesAlong ReduceOp::getAxesAlong(Value value, int64_t axis) {
  return reductionAlong(*this, value, axis);
}
void ReduceOp::splitAxes(AxisOf axisOf) { splitReduction(*this, axisOf); }

AxesAlong MomentsOp::getAxesAlong(Value value, int64_t axis) {
  return reductionAlong(*this, value, axis);
}
void MomentsOp::splitAxes(AxisOf axisOf) { splitReduction(*this, axisOf); }

//===------------------------------------------------------------------------------------------===//
// Windows
//===------------------------------------------------------------------------------------------===//

AxesAlong dlc::dl::windowAlong(WindowOp op, int64_t axis) {
  return axis == 1 ? AxesAlong(allAt(op, axis)) : std::nullopt;
}

void dlc::dl::splitWindow(WindowOp op, AxisOf axisOf) {
  if (!axisOf(op->getResult(0)))
    return;
  // The inner part of the channels is an axis more to slide along, by one element.
  SmallVector<WindowAxis> axes(op.getGeometry().axes);
  axes.insert(axes.begin(), WindowAxis());
  op.setWindow(axes);
}
