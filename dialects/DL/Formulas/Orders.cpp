//===- Orders.cpp - see Orders.h --------------------------------------------------------------===//
#include "dialects/DL/Formulas/Orders.h"
#include "dialects/DL/Formulas/Elementwise.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include <limits>

using namespace mlir;

namespace dlc::dl::formulas {

Value productAlong(TensorBuilder &b, Value x, int64_t axis) {
  SmallVector<int64_t> shape(b.typeOf(x).getShape());
  if (shape[axis] == 0) {
    shape[axis] = 1;
    return b.splat(b.typeOf(x).clone(shape), 1);
  }
  SmallVector<int64_t> steps(shape.size(), 1);
  auto part = [&](int64_t start, int64_t size) -> Value {
    SmallVector<int64_t> starts(shape.size(), 0), sizes(shape);
    starts[axis] = start;
    sizes[axis] = size;
    return SliceOp::create(b.builder, b.loc, x, starts, sizes, steps);
  };
  for (int64_t size = shape[axis]; size > 1; size = b.typeOf(x).getDimSize(axis)) {
    Value first = part(0, size / 2), second = part(size / 2, size / 2);
    Value halves = b.multiply(first, second);
    if (size % 2 != 0)
      halves = ConcatOp::create(b.builder, b.loc, ValueRange{halves, part(size - 1, 1)}, axis);
    x = halves;
  }
  return x;
}

/// Each element with what is 1, 2, 4, ... before it (Hillis and Steele, 1986): as many additions as
/// the length has bits lie behind each sum.
Value cumulativeSum(TensorBuilder &b, Value x, int64_t axis) {
  RankedTensorType type = b.typeOf(x);
  SmallVector<int64_t> starts(type.getRank(), 0), low(type.getRank(), 0), steps(type.getRank(), 1);
  for (int64_t by = 1; by < type.getDimSize(axis); by *= 2) {
    SmallVector<int64_t> sizes(type.getShape());
    sizes[axis] -= by;
    low[axis] = by;
    Value before = SliceOp::create(b.builder, b.loc, x, starts, sizes, steps);
    before = PadOp::create(b.builder, b.loc, type, before, low, steps);
    x = b.add(x, before);
  }
  return x;
}

//===------------------------------------------------------------------------------------------===//
// The largest
//===------------------------------------------------------------------------------------------===//

/// Index numbers of an axis, in the shape of `x`.
static Value indexNumbers(TensorBuilder &b, Value x, int64_t axis) {
  return b.iota(b.typeOf(x).getShape(), b.builder.getI32Type(), axis);
}

Value largestIndex(TensorBuilder &b, Value x, int64_t axis) {
  Value largest = b.broadcastOver(b.reduce(ReduceKind::Max, x, {axis}), b.typeOf(x), {axis});
  Value numbers = indexNumbers(b, x, axis);
  // No index has the filler's number.
  Value filler = b.splatLike(numbers, std::numeric_limits<int32_t>::max());
  Value others = filler;
  // What is not a number makes the largest none, and equals nothing.
  if (isa<FloatType>(b.typeOf(x).getElementType()))
    others = b.select(b.compare(Predicate::NE, x, x), numbers, filler);
  Value candidates = b.select(b.compare(Predicate::EQ, x, largest), numbers, others);
  return b.reduce(ReduceKind::Min, candidates, {axis});
}

/// k times the first of the largest that are left.
Largest topK(TensorBuilder &b, Value x, int64_t k) {
  RankedTensorType type = b.typeOf(x);
  const int64_t axis = type.getRank() - 1;
  Value numbers = indexNumbers(b, x, axis);
  Value lowest = b.splatLike(x, -std::numeric_limits<double>::infinity());
  Value nobody = b.splatLike(numbers, std::numeric_limits<int32_t>::max());
  Value taken = b.splat(type.clone(b.builder.getI1Type()), 0);
  SmallVector<Value> values, indices;
  SmallVector<int64_t> single(type.getShape());
  single[axis] = 1;
  for (int64_t i = 0; i < k; ++i) {
    Value left = b.select(taken, lowest, x);
    Value largest = b.broadcastOver(b.reduce(ReduceKind::Max, left, {axis}), type, {axis});
    Value isNaN = b.compare(Predicate::NE, left, left);
    Value isLargest = b.select(isNaN, isNaN, b.compare(Predicate::EQ, left, largest));
    Value candidates = b.select(taken, nobody, b.select(isLargest, numbers, nobody));
    Value index = b.reduce(ReduceKind::Min, candidates, {axis});
    Value isIndex =
        b.compare(Predicate::EQ, numbers, b.broadcastOver(index, b.typeOf(numbers), {axis}));
    values.push_back(
        b.reshape(b.reduce(ReduceKind::Sum, b.keepWhere(isIndex, x), {axis}), type.clone(single)));
    indices.push_back(b.reshape(index, b.typeOf(numbers).clone(single)));
    taken = b.select(taken, taken, isIndex);
  }
  Value all = ConcatOp::create(b.builder, b.loc, values, axis);
  return {all, ConcatOp::create(b.builder, b.loc, indices, axis)};
}

Value oneHot(TensorBuilder &b, Value index, int64_t count) {
  RankedTensorType type = b.typeOf(index);
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(count);
  Value numbers = b.iota(shape, type.getElementType(), type.getRank());
  Value wide = b.broadcastOver(index, type.clone(shape), {type.getRank()});
  return b.cast(b.compare(Predicate::EQ, numbers, wide), b.builder.getF32Type());
}

//===------------------------------------------------------------------------------------------===//
// Sorting
//===------------------------------------------------------------------------------------------===//

Ranking::Ranking(TensorBuilder b, Value x, int64_t axis) : b(b), x(x), axis(axis) {
  SmallVector<int64_t> shape(b.typeOf(x).getShape());
  shape.insert(shape.begin() + axis, shape[axis]);
  wide = b.typeOf(x).clone(shape);
}

Value Ranking::each(Value value) {
  return b.broadcastOver(value, wide.clone(b.typeOf(value).getElementType()), {axis + 1});
}

Value Ranking::other(Value value) {
  return b.broadcastOver(value, wide.clone(b.typeOf(value).getElementType()), {axis});
}

Value Ranking::numbers(int64_t along) {
  return b.iota(wide.getShape(), b.builder.getI32Type(), along);
}

Value Ranking::places(bool descending) {
  auto compared = [&](Predicate predicate) {
    Value others = other(x);
    return b.compare(predicate, others, each(x));
  };
  Value before = compared(descending ? Predicate::GT : Predicate::LT);
  Value isEqual = compared(Predicate::EQ);
  if (isa<FloatType>(wide.getElementType())) {
    Value isNaN = b.compare(Predicate::NE, x, x);
    Value isLast = each(isNaN);
    before = either(b, before, both(b, isLast, isNot(b, other(isNaN))));
    isLast = each(isNaN);
    isEqual = either(b, isEqual, both(b, isLast, other(isNaN)));
  }
  Value others = numbers(axis + 1);
  Value isEarlier = b.compare(Predicate::LT, others, numbers(axis));
  Value counts = either(b, before, both(b, isEqual, isEarlier));
  return b.reduce(ReduceKind::Sum, b.cast(counts, b.builder.getI32Type()), {axis + 1});
}

Value Ranking::arrange(Value values, Value places) {
  Value others = other(places);
  Value isThere = b.compare(Predicate::EQ, others, numbers(axis));
  return b.reduce(ReduceKind::Sum, b.keepWhere(isThere, other(values)), {axis + 1});
}

Value Ranking::order(Value places) { return arrange(indexNumbers(b, places, axis), places); }

//===------------------------------------------------------------------------------------------===//
// Turned round, repeated
//===------------------------------------------------------------------------------------------===//

/// Each part along an axis by its number from behind.
Value flip(TensorBuilder &b, Value x, ArrayRef<int64_t> axes) {
  for (int64_t axis : axes) {
    const int64_t size = b.typeOf(x).getDimSize(axis);
    Value numbers = b.iota({size}, b.builder.getI32Type(), 0);
    Value fromBehind = b.subtract(b.splatLike(numbers, double(size - 1)), numbers);
    x = GatherOp::create(b.builder, b.loc, x, fromBehind, axis);
  }
  return x;
}

/// One axis after the other, so that no more than one is added: [a, b] to [n, a, b], which is
/// [n * a, b].
Value tile(TensorBuilder &b, Value x, ArrayRef<int64_t> counts) {
  for (auto [axis, count] : llvm::enumerate(counts)) {
    if (count == 1)
      continue;
    SmallVector<int64_t> wide(b.typeOf(x).getShape()), dims;
    for (size_t i = 0; i < wide.size(); ++i)
      dims.push_back(int64_t(i + (i >= axis)));
    wide.insert(wide.begin() + axis, count);
    x = b.broadcast(x, b.typeOf(x).clone(wide), dims);
    wide.erase(wide.begin() + axis);
    wide[axis] *= count;
    x = b.reshape(x, b.typeOf(x).clone(wide));
  }
  return x;
}

} // namespace dlc::dl::formulas
