//===- BodyEmitter.cpp - element-wise bodies at points of an index space ----------------------===//
//
// Values are pulled: emit(result, point) asks for the operands of the op that makes the result, at
// points derived from the given one, down to operands of the kernel and the anchor. Element-wise
// ops and reshapes hand the point on, a broadcast drops axes, so a vector of points turns into a
// scalar where the value repeats, and is splat at its first use.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Kernel/KernelSpec.h"
#include "dialects/DL/DLTensorOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Points
//===------------------------------------------------------------------------------------------===//

static Value constant(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 64);
}
static Value add(OpBuilder &b, Location loc, Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}
static Value mul(OpBuilder &b, Location loc, Value x, int64_t y) {
  return b.createOrFold<arith::MulIOp>(loc, x, constant(b, loc, y));
}

namespace {
/// Translates one group of axes: as many elements in both index spaces.
struct GroupTranslation {
  OpBuilder &b;
  Location loc;
  const Point &from;
  Point &to;

  LogicalResult run(unsigned fromBegin, unsigned fromEnd, unsigned toBegin, unsigned toEnd);
};
} // namespace

LogicalResult GroupTranslation::run(unsigned fromBegin, unsigned fromEnd, unsigned toBegin,
                                    unsigned toEnd) {
  Value linear;
  int64_t step = 0;
  for (unsigned i = fromBegin; i < fromEnd; ++i) {
    if (from.shape[i] == 1 && int64_t(i) != from.axis)
      continue;
    linear =
        linear ? add(b, loc, mul(b, loc, linear, from.shape[i]), from.indices[i]) : from.indices[i];
    step *= from.shape[i];
    if (int64_t(i) == from.axis && from.width > 1)
      step = from.step;
  }
  SmallVector<unsigned> places;
  for (unsigned j = toBegin; j < toEnd; ++j) {
    to.indices.push_back(constant(b, loc, 0));
    if (to.shape[j] != 1)
      places.push_back(j);
  }
  if (places.empty() && toBegin < toEnd)
    places.push_back(toBegin);
  if (!linear || places.empty())
    return success(step == 0);
  if (step != 0) {
    if (places.size() > 1)
      return failure();
    to.axis = places[0];
    to.step = step;
  }
  for (unsigned place : llvm::reverse(places)) {
    Value extent = constant(b, loc, to.shape[place]);
    bool outermost = place == places.front();
    to.indices[place] = outermost ? linear : b.createOrFold<arith::RemUIOp>(loc, linear, extent);
    if (!outermost)
      linear = b.createOrFold<arith::DivUIOp>(loc, linear, extent);
  }
  return success();
}

FailureOr<Point> codegen::reshapePoint(OpBuilder &b, Location loc, const Point &point,
                                       ArrayRef<int64_t> shape) {
  if (ArrayRef<int64_t>(point.shape) == shape)
    return point;
  Point result;
  result.shape.assign(shape.begin(), shape.end());
  result.width = point.width;
  result.mask = point.mask;
  GroupTranslation groups{b, loc, point, result};
  unsigned i = 0, j = 0, fromRank = point.shape.size(), toRank = shape.size();
  while (i < fromRank || j < toRank) {
    unsigned i0 = i, j0 = j;
    int64_t from = i < fromRank ? point.shape[i++] : 1, to = j < toRank ? shape[j++] : 1;
    while (from != to) {
      if (from < to)
        from *= point.shape[i++];
      else
        to *= shape[j++];
    }
    if (failed(groups.run(i0, i, j0, j)))
      return failure();
  }
  return result;
}

Point codegen::lanePoint(OpBuilder &b, Location loc, const Point &point, int64_t lane) {
  Point result = point;
  result.axis = -1;
  result.width = result.step = 1;
  result.mask = {};
  if (point.width == 1)
    return result;
  Value &index = result.indices[point.axis];
  index = add(b, loc, index, constant(b, loc, lane * point.step));
  if (point.mask) {
    index =
        b.createOrFold<arith::MinSIOp>(loc, index, constant(b, loc, point.shape[point.axis] - 1));
    index = b.createOrFold<arith::MaxSIOp>(loc, index, constant(b, loc, 0));
  }
  return result;
}

//===------------------------------------------------------------------------------------------===//
// The common index space
//===------------------------------------------------------------------------------------------===//

namespace {
/// How a broadcast's result groups its axes: runs that the operand has, and runs that repeat it.
struct BroadcastGroups {
  SmallVector<int64_t> shape;
  SmallVector<bool> repeated;

  explicit BroadcastGroups(dl::BroadcastOp op) {
    auto from = cast<RankedTensorType>(op.getX().getType());
    auto to = cast<RankedTensorType>(op.getY().getType());
    SmallVector<bool> repeats(to.getRank(), true);
    for (auto [k, axis] : llvm::enumerate(op.getDims()))
      repeats[axis] = from.getDimSize(k) != to.getDimSize(axis);
    for (int64_t axis = 0; axis < to.getRank(); ++axis) {
      if (to.getDimSize(axis) == 1)
        continue;
      if (!shape.empty() && repeated.back() == repeats[axis]) {
        shape.back() *= to.getDimSize(axis);
        continue;
      }
      shape.push_back(to.getDimSize(axis));
      repeated.push_back(repeats[axis]);
    }
  }
};

/// Collects the places at which an index space must have a border between axes: a place is the
/// number of elements behind it.
class CutCollector {
public:
  explicit CutCollector(const KernelSpec &spec) : spec(spec) {}
  /// Sorted, each once. A value is looked at once, however many ops read it.
  SmallVector<int64_t> collect(Value value);

private:
  SmallVector<int64_t> find(Value value);
  void addBorders(SmallVector<int64_t> &cuts, ArrayRef<int64_t> shape) {
    int64_t behind = 1;
    for (int64_t extent : llvm::reverse(shape)) {
      cuts.push_back(behind);
      behind *= extent;
    }
    cuts.push_back(behind);
  }
  void addBroadcast(SmallVector<int64_t> &cuts, dl::BroadcastOp op);

  const KernelSpec &spec;
  DenseMap<Value, SmallVector<int64_t>> known;
};
} // namespace

void CutCollector::addBroadcast(SmallVector<int64_t> &cuts, dl::BroadcastOp op) {
  BroadcastGroups groups(op);
  addBorders(cuts, groups.shape);
  // A border inside the operand stands inside a group that is not repeated.
  for (int64_t cut : collect(op.getX())) {
    int64_t behindX = 1, behindY = 1;
    for (auto [extent, repeated] : llvm::reverse(llvm::zip_equal(groups.shape, groups.repeated))) {
      if (!repeated && cut >= behindX && cut <= behindX * extent)
        cuts.push_back(behindY * (cut / behindX));
      behindX *= repeated ? 1 : extent;
      behindY *= extent;
    }
  }
}

SmallVector<int64_t> CutCollector::collect(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  SmallVector<int64_t> cuts = find(value);
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  known[value] = cuts;
  return cuts;
}

SmallVector<int64_t> CutCollector::find(Value value) {
  SmallVector<int64_t> cuts;
  auto type = cast<RankedTensorType>(value.getType());
  if (isa<BlockArgument>(value)) {
    if (!PhysicalLayout::get(type).rowMajor)
      addBorders(cuts, type.getShape());
    return cuts;
  }
  Operation *op = value.getDefiningOp();
  // The generator asks in the space that it has the anchor's values in.
  if (spec.anchorResult(value))
    return cuts;
  // Its operand lives in another order: what that needs is served by scalars.
  if (isa<dl::TransposeOp>(op)) {
    addBorders(cuts, type.getShape());
    return cuts;
  }
  if (auto broadcast = dyn_cast<dl::BroadcastOp>(op)) {
    addBroadcast(cuts, broadcast);
    return cuts;
  }
  if (auto iota = dyn_cast<dl::IotaOp>(op)) {
    auto shape = type.getShape();
    int64_t axis = iota.getAxis();
    addBorders(cuts,
               {product(shape.take_front(axis)), shape[axis], product(shape.drop_front(axis + 1))});
    return cuts;
  }
  for (Value operand : op->getOperands())
    cuts.append(collect(operand));
  return cuts;
}

/// Splits an axis of `extent` elements, `behind` elements deep, at the cuts that fall inside it.
static LogicalResult splitAxis(int64_t extent, int64_t behind, ArrayRef<int64_t> cuts,
                               SmallVector<int64_t> &shape) {
  // From the outermost piece to the innermost.
  int64_t upper = extent * behind;
  for (int64_t cut : llvm::reverse(cuts)) {
    if (cut <= behind || cut >= upper)
      continue;
    if (upper % cut != 0)
      return failure();
    shape.push_back(upper / cut);
    upper = cut;
  }
  if (upper % behind != 0)
    return failure();
  shape.push_back(upper / behind);
  return success();
}

FailureOr<SmallVector<int64_t>>
codegen::refineIndexSpace(const KernelSpec &spec, ArrayRef<Value> roots, ArrayRef<int64_t> space) {
  CutCollector collector(spec);
  int64_t elements = product(space);
  SmallVector<int64_t> cuts;
  for (Value root : roots) {
    auto type = cast<RankedTensorType>(root.getType());
    if (type.getNumElements() != elements || elements == 0)
      return failure();
    cuts.append(collector.collect(root));
    PhysicalLayout layout = PhysicalLayout::get(type);
    // Padding must be written as zeros, which no walk over elements does.
    if (layout.elements != elements)
      return failure();
    if (!layout.rowMajor)
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        cuts.push_back(product(type.getShape().drop_front(axis)));
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  SmallVector<int64_t> shape;
  int64_t behind = elements;
  for (int64_t extent : space) {
    behind /= extent;
    if (failed(splitAxis(extent, behind, cuts, shape)))
      return failure();
  }
  return shape;
}

//===------------------------------------------------------------------------------------------===//
// Values
//===------------------------------------------------------------------------------------------===//

static Value splat(OpBuilder &b, Location loc, Value scalar, int64_t width) {
  return vector::BroadcastOp::create(b, loc, VectorType::get({width}, scalar.getType()), scalar);
}

/// The element type as computed with: signless integers, bool as i1.
static Type computeType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

Value BodyEmitter::emit(Value value, const Point &point) {
  for (auto &[key, at, known] : memo)
    if (key == value && at == point)
      return known;
  Value result = compute(value, point);
  if (!result && point.width > 1)
    result = computeLanes(value, point);
  if (result)
    memo.emplace_back(value, point, result);
  return result;
}

Value BodyEmitter::emitVector(Value value, const Point &point) {
  Value result = emit(value, point);
  if (!result || point.width == 1 || isa<VectorType>(result.getType()))
    return result;
  return splat(builder, loc, result, point.width);
}

Value BodyEmitter::emitStored(Value value, const Point &point) {
  Value result = emitVector(value, point);
  if (!result || !getElementTypeOrSelf(result).isInteger(1))
    return result;
  Type byte = builder.getI8Type();
  if (auto vector = dyn_cast<VectorType>(result.getType()))
    byte = vector.clone(byte);
  return arith::ExtUIOp::create(builder, loc, byte, result);
}

/// A bool that was loaded as a byte.
static Value loadedToComputed(OpBuilder &b, Location loc, Value loaded, Type element) {
  if (!element.isInteger(1))
    return loaded;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(loaded.getType()));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, loaded, zero);
}

static Value scalarConstant(OpBuilder &b, Location loc, dl::ConstantOp op) {
  auto splat = cast<DenseElementsAttr>(op.getValue());
  Type type = computeType(splat.getElementType());
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, splat.getSplatValue<APFloat>()));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, splat.getSplatValue<APInt>()));
}

Value BodyEmitter::compute(Value value, const Point &point) {
  Type element = getElementTypeOrSelf(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value loaded = load(argument.getArgNumber(), point);
    return loaded ? loadedToComputed(builder, loc, loaded, element) : Value();
  }
  Operation *op = value.getDefiningOp();
  if (std::optional<unsigned> number = spec.anchorResult(value)) {
    Value known = anchor ? anchor(*number, point) : Value();
    // A transposition only changes indices: it can be looked through, any other anchor cannot.
    if (known || !isa<dl::TransposeOp>(op))
      return known;
  }
  if (auto constant = dyn_cast<dl::ConstantOp>(op))
    return scalarConstant(builder, loc, constant);
  if (auto reshape = dyn_cast<dl::ReshapeOp>(op))
    return emit(reshape.getX(), point);
  if (auto broadcast = dyn_cast<dl::BroadcastOp>(op))
    return computeBroadcast(broadcast, point);
  if (auto iota = dyn_cast<dl::IotaOp>(op))
    return computeIota(iota, point);
  if (spec.isSum(value))
    return {};
  if (auto transpose = dyn_cast<dl::TransposeOp>(op)) {
    FailureOr<Point> own = reshapePoint(builder, loc, point, transpose.getType().getShape());
    if (failed(own))
      return {};
    Point source = *own;
    auto type = cast<RankedTensorType>(transpose.getX().getType());
    source.shape.assign(type.getShape().begin(), type.getShape().end());
    for (auto [i, axis] : llvm::enumerate(transpose.getOrder())) {
      source.indices[axis] = own->indices[i];
      if (own->axis == int64_t(i))
        source.axis = axis;
    }
    return emit(transpose.getX(), source);
  }
  return computeElementwise(cast<dl::ElementwiseOp>(op), point);
}

Value BodyEmitter::computeLanes(Value value, const Point &point) {
  Value result;
  for (int64_t lane = 0; lane < point.width; ++lane) {
    Value scalar = compute(value, lanePoint(builder, loc, point, lane));
    if (!scalar)
      return {};
    if (!result)
      result = splat(builder, loc, scalar, point.width);
    else
      result = vector::InsertOp::create(builder, loc, scalar, result, lane);
  }
  return result;
}

Value BodyEmitter::computeBroadcast(dl::BroadcastOp op, const Point &point) {
  BroadcastGroups groups(op);
  FailureOr<Point> grouped = reshapePoint(builder, loc, point, groups.shape);
  if (failed(grouped))
    return {};
  Point source;
  for (auto [i, extent, repeated] : llvm::enumerate(groups.shape, groups.repeated)) {
    if (repeated)
      continue;
    if (grouped->axis == int64_t(i) && grouped->width > 1) {
      source.axis = source.shape.size();
      source.width = grouped->width;
      source.step = grouped->step;
      source.mask = grouped->mask;
    }
    source.shape.push_back(extent);
    source.indices.push_back(grouped->indices[i]);
  }
  return emit(op.getX(), source);
}

Value BodyEmitter::computeIota(dl::IotaOp op, const Point &point) {
  auto type = cast<RankedTensorType>(op.getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t axis = op.getAxis();
  FailureOr<Point> grouped = reshapePoint(
      builder, loc, point,
      {product(shape.take_front(axis)), shape[axis], product(shape.drop_front(axis + 1))});
  if (failed(grouped))
    return {};
  Type element = computeType(type.getElementType());
  Value index = grouped->indices[1];
  if (element != index.getType())
    index = arith::TruncIOp::create(builder, loc, element, index);
  if (grouped->axis != 1 || grouped->width == 1)
    return index;
  auto vectorType = VectorType::get({point.width}, element);
  SmallVector<Attribute> lanes;
  for (int64_t lane = 0; lane < point.width; ++lane)
    lanes.push_back(builder.getIntegerAttr(element, lane * grouped->step));
  Value offsets =
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vectorType, lanes));
  return arith::AddIOp::create(builder, loc, splat(builder, loc, index, point.width), offsets);
}

Value codegen::convertFloat(OpBuilder &b, Location loc, Value value, Type element) {
  Type from = getElementTypeOrSelf(value), type = element;
  if (from == element)
    return value;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return b.createOrFold<arith::ExtFOp>(loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

/// An op on 16-bit floats computes in f32 and rounds once, whatever it is made of and however ops
/// are fused into kernels.
Value BodyEmitter::computeElementwise(dl::ElementwiseOp op, const Point &point) {
  SmallVector<Value> operands;
  bool anyVector = false;
  for (Value operand : op->getOperands()) {
    operands.push_back(emit(operand, point));
    if (!operands.back())
      return {};
    if (isSmallFloat(getElementTypeOrSelf(operands.back())))
      operands.back() = convertFloat(builder, loc, operands.back(), builder.getF32Type());
    anyVector |= isa<VectorType>(operands.back().getType());
  }
  if (anyVector)
    for (Value &operand : operands)
      if (!isa<VectorType>(operand.getType()))
        operand = splat(builder, loc, operand, point.width);
  Value result = op.buildScalar(builder, loc, operands);
  Type element = getElementTypeOrSelf(op->getResult(0));
  return isSmallFloat(element) ? convertFloat(builder, loc, result, element) : result;
}
