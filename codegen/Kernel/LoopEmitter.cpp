//===- LoopEmitter.cpp - see LoopEmitter.h ----------------------------------------------------===//
#include "codegen/Kernel/LoopEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Integers
//===------------------------------------------------------------------------------------------===//

Value LoopEmitter::constant(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 64);
}
Value LoopEmitter::add(Value a, Value c) { return b.createOrFold<arith::AddIOp>(loc, a, c); }
Value LoopEmitter::sub(Value a, Value c) { return b.createOrFold<arith::SubIOp>(loc, a, c); }
Value LoopEmitter::mul(Value a, Value c) { return b.createOrFold<arith::MulIOp>(loc, a, c); }
Value LoopEmitter::div(Value a, int64_t c) {
  return b.createOrFold<arith::DivUIOp>(loc, a, constant(c));
}
Value LoopEmitter::rem(Value a, int64_t c) {
  return c == 1 ? constant(0) : b.createOrFold<arith::RemUIOp>(loc, a, constant(c));
}
Value LoopEmitter::minimum(Value a, Value c) { return b.createOrFold<arith::MinSIOp>(loc, a, c); }
Value LoopEmitter::maximum(Value a, Value c) { return b.createOrFold<arith::MaxSIOp>(loc, a, c); }
Value LoopEmitter::less(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, c);
}
Value LoopEmitter::equal(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, c);
}
Value LoopEmitter::both(Value a, Value c) { return b.createOrFold<arith::AndIOp>(loc, a, c); }
Value LoopEmitter::select(Value condition, Value a, Value c) {
  return b.createOrFold<arith::SelectOp>(loc, condition, a, c);
}
std::optional<int64_t> LoopEmitter::known(Value value) { return getConstantIntValue(value); }

//===------------------------------------------------------------------------------------------===//
// Control
//===------------------------------------------------------------------------------------------===//

void LoopEmitter::loop(Value lower, Value upper, int64_t step,
                       llvm::function_ref<void(Value)> body) {
  carry(lower, upper, step, {}, [&](Value index, ValueRange) -> SmallVector<Value> {
    body(index);
    return {};
  });
}

SmallVector<Value> LoopEmitter::carry(Value lower, Value upper, int64_t step, ValueRange init,
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

SmallVector<Value> LoopEmitter::nest(ArrayRef<int64_t> shape, int64_t unroll, ValueRange init,
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

void LoopEmitter::when(Value condition, llvm::function_ref<void()> body) {
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

Value LoopEmitter::valueWhen(Value condition, Value otherwise, llvm::function_ref<Value()> body) {
  auto branch = scf::IfOp::create(b, loc, otherwise.getType(), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, body());
  return branch.getResult(0);
}

SmallVector<Value> LoopEmitter::delinearize(Value linear, ArrayRef<int64_t> shape) {
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

Value LoopEmitter::number(double value, Type type) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(b.getFloatAttr(element, value))
                            : TypedAttr(b.getIntegerAttr(element, int64_t(value)));
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(b, loc, attribute);
}

Value LoopEmitter::convertFloat(Value value, Type element) {
  return codegen::convertFloat(b, loc, value, element);
}
