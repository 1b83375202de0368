//===- PointBuilder.cpp - see PointBuilder.h --------------------------------------------------===//
#include "dialects/DL/Builders/PointBuilder.h"

using namespace mlir;
using namespace dlc::dl;

Value PointBuilder::numberAt(Value index, ArrayRef<Value> place) {
  Value number = read(index, Indices(place));
  return number.getType().isInteger(64)
             ? number
             : arith::ExtSIOp::create(b, loc, b.getI64Type(), number).getResult();
}

Value PointBuilder::orZero(Value condition, Value value) {
  return arith::SelectOp::create(b, loc, condition, value, number(0, value.getType()));
}

Value PointBuilder::sum(ArrayRef<int64_t> shape, Type type,
                        llvm::function_ref<Value(ArrayRef<Value>)> term) {
  return loops(shape, number(0, type), [&](ArrayRef<Value> i, ValueRange total) {
    return SmallVector<Value>{addFloats(total[0], term(i))};
  })[0];
}

void PointBuilder::place(Place &place, Value index, int64_t extent) {
  place.inside = both(place.inside, less(constant(-1), index));
  place.inside = both(place.inside, less(index, constant(extent)));
  index = minimum(maximum(index, constant(0)), constant(std::max<int64_t>(extent, 1) - 1));
  place.indices.push_back(index);
}

PointBuilder::Place PointBuilder::inputPlace(const WindowGeometry &g, Indices lead,
                                             ArrayRef<Value> output, ArrayRef<Value> taps) {
  Place result{std::move(lead), yes()};
  for (auto [i, axis] : llvm::enumerate(g.axes))
    place(result,
          sub(add(mul(output[i], axis.stride), mul(taps[i], axis.dilation)), constant(axis.low)),
          axis.input);
  return result;
}

PointBuilder::Place PointBuilder::outputPlace(const WindowGeometry &g, Indices lead,
                                              ArrayRef<Value> input, ArrayRef<Value> taps) {
  Place result{std::move(lead), yes()};
  for (auto [i, axis] : llvm::enumerate(g.axes)) {
    Value start = sub(add(input[i], axis.low), mul(taps[i], axis.dilation));
    Value step = constant(axis.stride);
    Value rest = arith::RemSIOp::create(b, loc, start, step);
    result.inside = both(result.inside, equal(rest, constant(0)));
    result.inside = both(result.inside, less(constant(-1), start));
    place(result, arith::DivSIOp::create(b, loc, start, step), axis.output);
  }
  return result;
}
