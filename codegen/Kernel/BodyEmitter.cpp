//===- BodyEmitter.cpp - element-wise bodies at points of an index space ----------------------===//
//
// Values are pulled: emit(result, point) asks for the operands of the op that makes the result, at
// points derived from the given one, down to operands of the kernel and the anchor. Element-wise
// ops hand the point on, index ops say how it changes: a broadcast drops axes, so a vector of
// points turns into a scalar where the value repeats, and is splat at its first use.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/Kernel/KernelSpec.h"
#include "dialects/DL/Ops/DLConstantOps.h"
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
  void addIndexed(SmallVector<int64_t> &cuts, dl::IndexOp op);

  const KernelSpec &spec;
  DenseMap<Value, SmallVector<int64_t>> known;
};
} // namespace

void CutCollector::addIndexed(SmallVector<int64_t> &cuts, dl::IndexOp op) {
  SmallVector<dl::IndexMap> maps = op.getIndexMaps();
  // What has the operand's order needs no borders of its own.
  if (op->getNumOperands() == 1 && maps.front().isIdentity())
    return cuts.append(collect(op->getOperand(0)));
  for (const dl::IndexMap &map : maps)
    addBorders(cuts, map.result);
  // A border inside an axis of an operand stands inside the result's axis, if that is the same.
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps)) {
    // Nothing is read of an operand without elements.
    if (cast<RankedTensorType>(operand.getType()).getNumElements() == 0)
      continue;
    for (int64_t cut : collect(operand)) {
      int64_t behind = 1;
      for (const dl::IndexMap::Axis &axis : llvm::reverse(map.operand)) {
        if (map.isWhole(axis) && cut >= behind && cut <= behind * axis.extent)
          cuts.push_back(product(ArrayRef(map.result).drop_front(axis.from + 1)) * (cut / behind));
        behind *= axis.extent;
      }
    }
  }
  for (const dl::IndexMap &map : maps)
    for (const dl::IndexMap::Axis &axis : map.operand)
      if (axis.lookup != 0)
        for (int64_t cut : collect(op->getOperand(axis.lookup)))
          cuts.push_back(product(ArrayRef(map.result).drop_front(axis.from + 1)) * cut);
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
    if (!program::PhysicalLayout::get(type).rowMajor)
      addBorders(cuts, type.getShape());
    return cuts;
  }
  Operation *op = value.getDefiningOp();
  // The generator asks in the space that it has the anchor's values in.
  if (spec.anchorResult(value))
    return cuts;
  if (auto index = dyn_cast<dl::IndexOp>(op)) {
    addIndexed(cuts, index);
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
    const auto layout = program::PhysicalLayout::get(type);
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

Type codegen::computedType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element)) {
    const unsigned width = integer.getWidth();
    return IntegerType::get(element.getContext(), width == 1 ? 1 : std::max(width, 8u));
  }
  return element;
}

Value BodyEmitter::emit(Value value, const Point &point) {
  for (auto &[key, at, known] : memo)
    if (key == value && at == point)
      return known;
  Value result = kept ? kept(value, point) : Value();
  if (!result)
    result = compute(value, point);
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
  Type type = computedType(splat.getElementType());
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
    // What only changes indices can be looked through, any other anchor cannot.
    if (known || !isa<dl::IndexOp>(op))
      return known;
  }
  if (auto constant = dyn_cast<dl::ConstantOp>(op))
    return scalarConstant(builder, loc, constant);
  if (auto index = dyn_cast<dl::IndexOp>(op))
    return computeIndexed(index, point);
  if (spec.isSum(value))
    return {};
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

/// `index` and what follows it in the other lanes, as numbers of the type `element`.
static Value laneNumbers(OpBuilder &b, Location loc, Value index, Type element, int64_t width,
                         int64_t step) {
  if (element != index.getType())
    index = arith::TruncIOp::create(b, loc, element, index);
  auto type = VectorType::get({width}, element);
  SmallVector<Attribute> lanes;
  for (int64_t lane = 0; lane < width; ++lane)
    lanes.push_back(b.getIntegerAttr(element, lane * step));
  Value offsets = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, lanes));
  return arith::AddIOp::create(b, loc, splat(b, loc, index, width), offsets);
}

/// The number along all axes of the map that an op without operand gives.
Value BodyEmitter::computeNumber(const dl::IndexMap &map, Type element, const Point &point) {
  Value number;
  int64_t step = 0;
  for (const dl::IndexMap::Axis &axis : map.operand) {
    Value index = point.indices[axis.from];
    number = number ? add(builder, loc, mul(builder, loc, number, axis.extent), index) : index;
    step *= axis.extent;
    if (point.axis == axis.from && point.width > 1)
      step = point.step;
  }
  if (!number)
    number = constant(builder, loc, 0);
  if (step != 0)
    return laneNumbers(builder, loc, number, element, point.width, step);
  return element == number.getType() ? number
                                     : arith::TruncIOp::create(builder, loc, element, number);
}

namespace {
/// Leads a point of an index op's result to that of its operand.
class IndexStep {
public:
  IndexStep(OpBuilder &b, Location loc, const dl::IndexMap &map, const Point &own)
      : b(b), loc(loc), map(map), own(own) {}

  /// Adds an axis of the operand; `found`: the index, if it is looked up. Fails if the lanes of a
  /// vector of points are not equally far apart along it.
  LogicalResult add(const dl::IndexMap::Axis &axis, Value found);
  /// `value`, computed at `source`, where it exists, else `otherwise`.
  Value orElse(Value value, Value otherwise) const;

  Point source; ///< moved inside where it is scalar, masked where it is a vector

private:
  Value compare(arith::CmpIPredicate predicate, Value a, int64_t c);
  void addVector(const dl::IndexMap::Axis &axis, Value index, int64_t last);
  Value both(Value a, Value c) { return a ? arith::AndIOp::create(b, loc, a, c).getResult() : c; }

  OpBuilder &b;
  Location loc;
  const dl::IndexMap &map;
  const Point &own;
  Value exists;     ///< one bool for all lanes; null: always
  Value lanesExist; ///< a bool a lane; null: all
};
} // namespace

/// Of a number or a vector of numbers.
Value IndexStep::compare(arith::CmpIPredicate predicate, Value a, int64_t c) {
  Value limit = constant(b, loc, c);
  if (isa<VectorType>(a.getType()))
    limit = splat(b, loc, limit, own.width);
  return arith::CmpIOp::create(b, loc, predicate, a, limit);
}

void IndexStep::addVector(const dl::IndexMap::Axis &axis, Value index, int64_t last) {
  source.axis = source.shape.size();
  source.width = own.width;
  source.step = own.step * axis.scale;
  source.mask = own.mask;
  if (!map.mayMiss(axis))
    return;
  Value numbers = laneNumbers(b, loc, index, b.getI64Type(), own.width, source.step);
  lanesExist = both(compare(arith::CmpIPredicate::sge, numbers, 0),
                    compare(arith::CmpIPredicate::sle, numbers, last));
  source.mask = both(own.mask, lanesExist);
}

LogicalResult IndexStep::add(const dl::IndexMap::Axis &axis, Value found) {
  Value index = found ? found
                      : ::add(b, loc, mul(b, loc, own.indices[axis.from], axis.scale),
                              constant(b, loc, axis.offset));
  const int64_t last = (axis.extent - 1) * axis.divisor;
  if (own.width > 1 && own.axis == axis.from) {
    if (axis.divisor != 1 || found)
      return failure();
    addVector(axis, index, last);
  } else if (map.mayMiss(axis)) {
    exists = both(exists, compare(arith::CmpIPredicate::sge, index, 0));
    exists = both(exists, compare(arith::CmpIPredicate::sle, index, last));
    index = b.createOrFold<arith::MaxSIOp>(loc, index, constant(b, loc, 0));
    index = b.createOrFold<arith::MinSIOp>(loc, index, constant(b, loc, last));
    Value divisor = constant(b, loc, axis.divisor);
    if (axis.divisor != 1) {
      Value rest = arith::RemUIOp::create(b, loc, index, divisor);
      exists = both(exists, compare(arith::CmpIPredicate::eq, rest, 0));
      index = arith::DivUIOp::create(b, loc, index, divisor);
    }
  }
  source.shape.push_back(axis.extent);
  source.indices.push_back(index);
  return success();
}

Value IndexStep::orElse(Value value, Value otherwise) const {
  for (Value condition : {lanesExist, exists}) {
    if (!condition)
      continue;
    bool isVector = condition == lanesExist || isa<VectorType>(value.getType()) ||
                    isa<VectorType>(otherwise.getType());
    for (Value *each : {&value, &otherwise})
      if (isVector && !isa<VectorType>(each->getType()))
        *each = splat(b, loc, *each, own.width);
    value = arith::SelectOp::create(b, loc, condition, value, otherwise);
  }
  return value;
}

/// The element of `indices` at the point's index along `axis`, as an index.
Value BodyEmitter::lookUp(Value indices, int64_t axis, const Point &point) {
  Point at;
  at.shape = {point.shape[axis]};
  at.indices = {point.indices[axis]};
  if (point.axis == axis && point.width > 1)
    return {};
  Value index = emit(indices, at);
  if (!index || index.getType().isInteger(64))
    return index;
  return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), index);
}

/// The element of operand `number` that `map` leads to, `otherwise` where it has none.
Value BodyEmitter::computeOperand(dl::IndexOp op, unsigned number, const dl::IndexMap &map,
                                  const Point &point, Value otherwise) {
  FailureOr<Point> own = reshapePoint(builder, loc, point, map.result);
  if (failed(own))
    return {};
  IndexStep step(builder, loc, map, *own);
  for (const dl::IndexMap::Axis &axis : map.operand) {
    Value found;
    if (axis.lookup != 0 && !(found = lookUp(op->getOperand(axis.lookup), axis.from, *own)))
      return {};
    if (failed(step.add(axis, found)))
      return {};
  }
  Value value = emit(op->getOperand(number), step.source);
  return value ? step.orElse(value, otherwise) : Value();
}

Value BodyEmitter::computeIndexed(dl::IndexOp op, const Point &point) {
  SmallVector<dl::IndexMap> maps = op.getIndexMaps();
  if (op->getNumOperands() == 1 && maps.front().isIdentity())
    return emit(op->getOperand(0), point);
  Type element = computedType(getElementTypeOrSelf(op->getResult(0)));
  if (op->getNumOperands() == 0) {
    FailureOr<Point> own = reshapePoint(builder, loc, point, maps.front().result);
    return failed(own) ? Value() : computeNumber(maps.front(), element, *own);
  }
  Value result = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  auto isEmpty = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getNumElements() == 0;
  };
  // Without elements there is no place to move a point from or to.
  if (isEmpty(op->getResult(0)))
    return result;
  for (auto [number, map] : llvm::enumerate(maps)) {
    if (isEmpty(op->getOperand(number)))
      continue;
    result = computeOperand(op, number, map, point, result);
    if (!result)
      return {};
  }
  return result;
}

Value codegen::convertFloat(OpBuilder &b, Location loc, Value value, Type element, bool isExact) {
  Type from = getElementTypeOrSelf(value), type = element;
  if (from == element)
    return value;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return b.createOrFold<arith::ExtFOp>(loc, type, value);
  arith::RoundingModeAttr mode;
  if (isExact)
    mode = arith::RoundingModeAttr::get(b.getContext(), exactNarrowing);
  return b.createOrFold<arith::TruncFOp>(loc, type, value, mode, arith::FastMathFlagsAttr());
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
  return isSmallFloat(element) ? convertFloat(builder, loc, result, element, op.isExact()) : result;
}
