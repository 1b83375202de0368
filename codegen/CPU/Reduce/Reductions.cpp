//===- Reductions.cpp - see Reductions.h ------------------------------------------------------===//
#include "codegen/CPU/Reduce/Reductions.h"
#include "dialects/DL/Ops/DLReductionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

/// The type of partial results: integers signless.
static Type accumulatorOf(dl::ReductionOp op) {
  Type element = accumulatorType(getElementTypeOrSelf(op->getResult(0)));
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(op.getContext(), integer.getWidth());
  return element;
}

/// Moments are a count, a mean and a sum of squares.
static size_t slotsOf(dl::ReductionOp op) { return isa<dl::MomentsOp>(*op) ? 3 : 1; }

Reductions::Reductions(CodeEmitter &e, ArrayRef<dl::ReductionOp> reductions) : e(e) {
  size_t first = 0;
  for (dl::ReductionOp op : reductions) {
    Item item{op, {}, accumulatorOf(op), false, first, slotsOf(op)};
    if (auto reduce = dyn_cast<dl::ReduceOp>(*op)) {
      item.kind = reduce.getKind();
      item.isUnsigned = reduce.getType().getElementType().isUnsignedInteger();
    }
    items.push_back(item);
    first += item.slots;
  }
}

SmallVector<Type> Reductions::slotTypes(ArrayRef<dl::ReductionOp> reductions) {
  SmallVector<Type> types;
  for (dl::ReductionOp op : reductions)
    types.append(slotsOf(op), accumulatorOf(op));
  return types;
}

//===------------------------------------------------------------------------------------------===//
// Sum, maximum, minimum
//===------------------------------------------------------------------------------------------===//

Value Reductions::identity(const Item &item, int64_t lanes) {
  Type element = item.element, type = element;
  if (lanes > 1)
    type = VectorType::get({lanes}, element);
  if (!item.kind || *item.kind == dl::ReduceKind::Sum)
    return e.number(0, type);
  bool max = *item.kind == dl::ReduceKind::Max;
  double infinity = std::numeric_limits<double>::infinity();
  if (isa<FloatType>(element))
    return e.number(max ? -infinity : infinity, type);
  unsigned bits = element.getIntOrFloatBitWidth();
  APInt value = max ? (item.isUnsigned ? APInt::getZero(bits) : APInt::getSignedMinValue(bits))
                    : (item.isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits));
  TypedAttr attribute = e.b.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(e.b, e.loc, attribute);
}

Value Reductions::combine(const Item &item, Value a, Value b) {
  bool isFloat = isa<FloatType>(item.element);
  auto &builder = e.b;
  switch (*item.kind) {
  case dl::ReduceKind::Sum:
    return isFloat ? arith::AddFOp::create(builder, e.loc, a, b).getResult()
                   : arith::AddIOp::create(builder, e.loc, a, b).getResult();
  case dl::ReduceKind::Max:
    return isFloat           ? arith::MaximumFOp::create(builder, e.loc, a, b).getResult()
           : item.isUnsigned ? arith::MaxUIOp::create(builder, e.loc, a, b).getResult()
                             : arith::MaxSIOp::create(builder, e.loc, a, b).getResult();
  case dl::ReduceKind::Min:
    return isFloat           ? arith::MinimumFOp::create(builder, e.loc, a, b).getResult()
           : item.isUnsigned ? arith::MinUIOp::create(builder, e.loc, a, b).getResult()
                             : arith::MinSIOp::create(builder, e.loc, a, b).getResult();
  }
  llvm_unreachable("all kinds are listed");
}

Partial Reductions::none(int64_t lanes) {
  Partial result;
  for (const Item &item : items)
    result.append(item.slots, identity(item, lanes));
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Tiles
//===------------------------------------------------------------------------------------------===//

SmallVector<Value> Reductions::origins(Value mask, llvm::function_ref<Value(Value)> first) {
  SmallVector<Value> result(items.size());
  for (auto [item, origin] : llvm::zip_equal(items, result))
    if (!item.kind) {
      Value element = first(item.op.getReduced());
      // What a lane off the mask has loaded may be no number once it is computed with.
      origin = e.blend(mask, element, e.number(0, element.getType()));
    }
  return result;
}

Partial Reductions::add(ArrayRef<Value> total, ArrayRef<Value> elements, ArrayRef<Value> origins,
                        Value mask) {
  Partial result;
  for (auto [item, element, origin] : llvm::zip_equal(items, elements, origins)) {
    Type type = element.getType();
    if (item.kind) {
      auto vector = dyn_cast<VectorType>(type);
      Value none = mask ? identity(item, vector.getDimSize(0)) : Value();
      result.push_back(combine(item, total[item.first], e.blend(mask, element, none)));
      continue;
    }
    Value zero = e.number(0, type);
    Value one = e.blend(mask, e.number(1, type), zero);
    Value difference = arith::SubFOp::create(e.b, e.loc, element, origin);
    difference = e.blend(mask, difference, zero);
    ArrayRef<Value> slots = total.slice(item.first, item.slots);
    result.push_back(arith::AddFOp::create(e.b, e.loc, slots[0], one));
    result.push_back(arith::AddFOp::create(e.b, e.loc, slots[1], difference));
    result.push_back(math::FmaOp::create(e.b, e.loc, difference, difference, slots[2]));
  }
  return result;
}

Partial Reductions::join(ArrayRef<Value> a, ArrayRef<Value> b) {
  Partial result;
  for (const Item &item : items)
    for (size_t slot = item.first; slot < item.first + item.slots; ++slot)
      result.push_back(item.kind ? combine(item, a[slot], b[slot])
                                 : arith::AddFOp::create(e.b, e.loc, a[slot], b[slot]));
  return result;
}

Partials Reductions::joinPairs(Partials totals, size_t count) {
  while (totals.size() > count) {
    Partials next;
    size_t half = std::max(totals.size() / 2 / count * count, count);
    for (size_t i = 0; i < half; ++i)
      next.push_back(i + half < totals.size() ? join(totals[i], totals[i + half]) : totals[i]);
    for (size_t i = 2 * half; i < totals.size(); ++i)
      next[i % half] = join(next[i % half], totals[i]);
    totals = std::move(next);
  }
  return totals;
}

/// Where nothing is counted all else is zero: what it is divided by does not matter.
Value Reductions::atLeastOne(Value count) {
  return arith::MaximumFOp::create(e.b, e.loc, count, e.number(1, count.getType()));
}

Partial Reductions::finishTile(ArrayRef<Value> total, ArrayRef<Value> origins) {
  Partial result;
  for (auto [item, origin] : llvm::zip_equal(items, origins)) {
    if (item.kind) {
      result.push_back(total[item.first]);
      continue;
    }
    Value count = total[item.first], sum = total[item.first + 1], squares = total[item.first + 2];
    Value shift = arith::DivFOp::create(e.b, e.loc, sum, atLeastOne(count));
    Value excess = arith::MulFOp::create(e.b, e.loc, sum, shift);
    Value m2 = arith::SubFOp::create(e.b, e.loc, squares, excess);
    result.push_back(count);
    result.push_back(arith::AddFOp::create(e.b, e.loc, origin, shift));
    // No less than zero, which rounding might make it.
    result.push_back(arith::MaximumFOp::create(e.b, e.loc, m2, e.number(0, m2.getType())));
  }
  return result;
}

//===------------------------------------------------------------------------------------------===//
// Partial results
//===------------------------------------------------------------------------------------------===//

/// mean = mean a + d w and m2 = m2 a + m2 b + d^2 count a w, where d = mean b - mean a and w is the
/// share of b in the count.
void Reductions::mergeMoments(ArrayRef<Value> a, ArrayRef<Value> b, Partial &result) {
  auto add = [&](Value x, Value y) { return arith::AddFOp::create(e.b, e.loc, x, y).getResult(); };
  auto mul = [&](Value x, Value y) { return arith::MulFOp::create(e.b, e.loc, x, y).getResult(); };
  Value count = add(a[0], b[0]);
  Value share = arith::DivFOp::create(e.b, e.loc, b[0], atLeastOne(count));
  Value distance = arith::SubFOp::create(e.b, e.loc, b[1], a[1]);
  result.push_back(count);
  result.push_back(math::FmaOp::create(e.b, e.loc, distance, share, a[1]));
  // The weight first: it is zero where one part is empty, and the square might overflow.
  Value between = mul(mul(distance, mul(a[0], share)), distance);
  result.push_back(add(add(a[2], b[2]), between));
}

Partial Reductions::merge(ArrayRef<Value> a, ArrayRef<Value> b) {
  Partial result;
  for (const Item &item : items)
    if (item.kind)
      result.push_back(combine(item, a[item.first], b[item.first]));
    else
      mergeMoments(a.slice(item.first, 3), b.slice(item.first, 3), result);
  return result;
}

Partial Reductions::mergeLanes(ArrayRef<Value> partial, int64_t lanes) {
  Partial result(partial);
  for (int64_t width = lanes / 2; width >= 1; width /= 2) {
    auto part = [&](int64_t first) {
      auto chosen = llvm::to_vector(llvm::seq<int64_t>(first, first + width));
      return llvm::map_to_vector(result, [&](Value slot) -> Value {
        return vector::ShuffleOp::create(e.b, e.loc, slot, slot, chosen);
      });
    };
    Partial low = part(0), high = part(width);
    result = merge(low, high);
  }
  if (lanes > 1)
    for (Value &slot : result)
      slot = e.extractLane(slot, 0);
  return result;
}

SmallVector<Value> Reductions::results(ArrayRef<Value> partial) {
  SmallVector<Value> values;
  for (const Item &item : items) {
    size_t slot = item.first + (item.kind ? 0 : 1); // the count is no result
    for (Value result : item.op->getResults()) {
      Value value = partial[slot++];
      values.push_back(isa<FloatType>(item.element)
                           ? e.convertFloat(value, getElementTypeOrSelf(result))
                           : value);
    }
  }
  return values;
}
