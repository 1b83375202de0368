//===- PlainLoops.cpp - see PlainLoops.h ------------------------------------------------------===//
#include "codegen/Kernel/PlainLoops.h"
#include "codegen/Kernel/Address.h"
#include "dialects/DL/DLPoints.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

/// `result`, of the anchor or of a sum beside it, at a scalar point. Null for vectors, and for a
/// transposition, which moves points and has no loops.
static Value plainValue(const PlainFunction &function, OpResult result, const Point &point);

/// The spec's values, the anchor's computed wherever they are needed.
static BodyEmitter plainBody(const PlainFunction &function) {
  return function.body([&function](unsigned number, const Point &at) {
    return plainValue(function, cast<OpResult>(function.spec.anchorResults()[number]), at);
  });
}

namespace {
/// One element of the anchor, its operands with everything fused in front of them.
class SpecPoint : public dl::PointBuilder {
public:
  SpecPoint(const PlainFunction &function, Indices at)
      : PointBuilder(function.e.b, function.e.loc, std::move(at)), function(function) {}

  Value read(Value tensor, const Indices &indices) override {
    auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
    Point point;
    point.shape.assign(shape.begin(), shape.end());
    point.indices = indices;
    // Sums beside the anchor may need it.
    Value element = plainBody(function).emit(tensor, point);
    return isSmallFloat(element.getType())
               ? function.e.convertFloat(element, accumulatorType(element.getType()))
               : element;
  }
  Type elementOf(Value tensor) override {
    return computedType(accumulatorType(getElementTypeOrSelf(tensor)));
  }

private:
  const PlainFunction &function;
};
} // namespace

std::unique_ptr<dl::PointBuilder> codegen::plainPoint(const PlainFunction &function,
                                                      SmallVector<Value> at) {
  return std::make_unique<SpecPoint>(function, std::move(at));
}

static Value plainValue(const PlainFunction &function, OpResult result, const Point &point) {
  auto op = dyn_cast<dl::PointOp>(result.getOwner());
  if (point.width != 1 || !op)
    return {};
  auto type = cast<RankedTensorType>(result.getType());
  // Scalars fit every index space.
  Point own = *reshapePoint(function.e.b, function.e.loc, point, type.getShape());
  SpecPoint builder(function, own.indices);
  Value value = op.emitPoint(builder, result.getResultNumber());
  Type element = type.getElementType();
  return isSmallFloat(element) ? function.e.convertFloat(value, element) : value;
}

//===------------------------------------------------------------------------------------------===//
// Elements in memory
//===------------------------------------------------------------------------------------------===//

/// The logical place of stored element `linear`, and whether it is one: it may be padding.
static std::pair<Point, Value> placeOf(LoopEmitter &e, RankedTensorType type, Value linear) {
  const auto layout = program::PhysicalLayout::get(type);
  Point point;
  point.shape.assign(type.getShape().begin(), type.getShape().end());
  SmallVector<int64_t> extents;
  for (const program::PhysicalLayout::Dimension &d : layout.dimensions)
    extents.push_back(d.extent);
  point.indices = logicalIndices(e, layout, type.getRank(), e.delinearize(linear, extents));
  Value exists = e.number(1, e.b.getI1Type());
  if (layout.elements == type.getNumElements())
    return {point, exists};
  // Padding is computed at the nearest element and thrown away.
  for (auto [extent, index] : llvm::zip_equal(point.shape, point.indices)) {
    exists = e.both(exists, e.less(index, e.constant(extent)));
    index = e.minimum(index, e.constant(extent - 1));
  }
  return {point, exists};
}

Value codegen::plainElement(const PlainFunction &function, unsigned number, Value linear) {
  LoopEmitter &e = function.e;
  auto [point, exists] = placeOf(e, function.spec.resultTypes()[number], linear);
  Value result = function.spec.result(number);
  Value value = function.spec.isSum(result) ? plainValue(function, cast<OpResult>(result), point)
                                            : plainBody(function).emitStored(result, point);
  return value ? e.select(exists, value, e.number(0, value.getType())) : Value();
}
