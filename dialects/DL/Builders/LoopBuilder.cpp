//===- LoopBuilder.cpp - see LoopBuilder.h ----------------------------------------------------===//
#include "dialects/DL/Builders/LoopBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace dlc::dl;

//===------------------------------------------------------------------------------------------===//
// Integers
//===------------------------------------------------------------------------------------------===//

Value LoopBuilder::constant(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 64);
}
Value LoopBuilder::add(Value a, Value c) { return b.createOrFold<arith::AddIOp>(loc, a, c); }
Value LoopBuilder::sub(Value a, Value c) { return b.createOrFold<arith::SubIOp>(loc, a, c); }
Value LoopBuilder::mul(Value a, Value c) { return b.createOrFold<arith::MulIOp>(loc, a, c); }
Value LoopBuilder::div(Value a, int64_t c) {
  return b.createOrFold<arith::DivUIOp>(loc, a, constant(c));
}
Value LoopBuilder::rem(Value a, int64_t c) {
  return c == 1 ? constant(0) : b.createOrFold<arith::RemUIOp>(loc, a, constant(c));
}
Value LoopBuilder::minimum(Value a, Value c) { return b.createOrFold<arith::MinSIOp>(loc, a, c); }
Value LoopBuilder::maximum(Value a, Value c) { return b.createOrFold<arith::MaxSIOp>(loc, a, c); }
Value LoopBuilder::less(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, c);
}
Value LoopBuilder::equal(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, c);
}
Value LoopBuilder::both(Value a, Value c) { return b.createOrFold<arith::AndIOp>(loc, a, c); }
Value LoopBuilder::select(Value condition, Value a, Value c) {
  return b.createOrFold<arith::SelectOp>(loc, condition, a, c);
}
std::optional<int64_t> LoopBuilder::known(Value value) { return getConstantIntValue(value); }

//===------------------------------------------------------------------------------------------===//
// Control
//===------------------------------------------------------------------------------------------===//

void LoopBuilder::loop(Value lower, Value upper, int64_t step,
                       llvm::function_ref<void(Value)> body) {
  carry(lower, upper, step, {}, [&](Value index, ValueRange) -> SmallVector<Value> {
    body(index);
    return {};
  });
}

SmallVector<Value> LoopBuilder::carry(Value lower, Value upper, int64_t step, ValueRange init,
                                      CarryBody body) {
  auto from = known(lower), to = known(upper);
  if (from && to && *to <= *from)
    return llvm::to_vector(init);
  if (from && to && *to <= *from + step)
    return body(lower, init);
  auto loop = scf::ForOp::create(b, loc, lower, upper, constant(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> LoopBuilder::nest(ArrayRef<int64_t> shape, int64_t unroll, ValueRange init,
                                     NestBody body) {
  SmallVector<Value> indices;
  std::function<SmallVector<Value>(ValueRange)> level = [&](ValueRange carried) {
    if (indices.size() == shape.size())
      return body(indices, carried);
    int64_t extent = shape[indices.size()];
    auto turn = [&](Value index, ValueRange values) {
      indices.push_back(index);
      SmallVector<Value> next = level(values);
      indices.pop_back();
      return next;
    };
    if (extent > unroll)
      return carry(constant(0), constant(extent), 1, carried, turn);
    SmallVector<Value> values = llvm::to_vector(carried);
    for (int64_t i = 0; i < extent; ++i)
      values = turn(constant(i), values);
    return values;
  };
  return level(init);
}

void LoopBuilder::when(Value condition, llvm::function_ref<void()> body) {
  if (auto value = known(condition)) {
    if (*value)
      body();
    return;
  }
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void LoopBuilder::branch(Value condition, llvm::function_ref<void()> then,
                         llvm::function_ref<void()> otherwise) {
  if (auto value = known(condition))
    return *value ? then() : otherwise();
  auto both = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(both.thenBlock());
  then();
  b.setInsertionPointToStart(both.elseBlock());
  otherwise();
}

Value LoopBuilder::valueWhen(Value condition, Value otherwise, llvm::function_ref<Value()> body) {
  auto branch = scf::IfOp::create(b, loc, otherwise.getType(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, body());
  return branch.getResult(0);
}

SmallVector<Value> LoopBuilder::delinearize(Value linear, ArrayRef<int64_t> shape) {
  SmallVector<Value> indices(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    indices[i] = i == 0 ? linear : rem(linear, shape[i]);
    linear = i == 0 ? linear : div(linear, shape[i]);
  }
  return indices;
}

//===------------------------------------------------------------------------------------------===//
// Numbers
//===------------------------------------------------------------------------------------------===//

Value LoopBuilder::number(double value, Type type) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(b.getFloatAttr(element, value))
                            : TypedAttr(b.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, loc, attribute);
}
