//===- FourierTransform.cpp - see FourierTransform.h ------------------------------------------===//
#include "codegen/CPU/FFT/FourierTransform.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

FourierTransform::FourierTransform(int64_t high, int64_t highTaps, int64_t wide, int64_t wideTaps)
    : tile{high, wide}, highTaps(highTaps), wideTaps(wideTaps) {}

FourierTransform::Extent FourierTransform::extentOf(Side side) const {
  switch (side) {
  case Side::Source:
    return {tile.high, tile.wide};
  case Side::Filter:
    return {highTaps, wideTaps};
  case Side::Target:
    break;
  }
  return {tile.high - highTaps + 1, tile.wide - wideTaps + 1};
}

/// A correlation multiplies by conjugated points: those of the source turn one way, those of what
/// it is multiplied with the other.
static int signOf(TileTransform::Side side) { return side == TileTransform::Side::Source ? -1 : 1; }

/// Runs a codelet on vectors.
static SmallVector<Value> emit(PackEmitter &e, const FourierCodelet &codelet,
                               llvm::function_ref<Value(int64_t)> input) {
  SmallVector<Value> values;
  for (const FourierCodelet::Operation &one : codelet.operations()) {
    auto factor = [&] { return e.number(one.factor, e.vectorType()); };
    Value result;
    switch (one.kind) {
    case FourierCodelet::Operation::Input:
      result = input(one.a);
      break;
    case FourierCodelet::Operation::Add:
      result = arith::AddFOp::create(e.b, e.loc, values[one.a], values[one.b]);
      break;
    case FourierCodelet::Operation::Subtract:
      result = arith::SubFOp::create(e.b, e.loc, values[one.a], values[one.b]);
      break;
    case FourierCodelet::Operation::Scale:
      result = arith::MulFOp::create(e.b, e.loc, factor(), values[one.a]);
      break;
    case FourierCodelet::Operation::ScaleAdd:
      result = vector::FMAOp::create(e.b, e.loc, factor(), values[one.a], values[one.b]);
      break;
    }
    values.push_back(result);
  }
  SmallVector<Value> outputs;
  for (FourierCodelet::Number number : codelet.outputs())
    outputs.push_back(number == FourierCodelet::zero ? e.zeroVector() : values[number]);
  return outputs;
}

void FourierTransform::toPoints(PackEmitter &e, Side side, Value buffer, LoadPixel load,
                                StorePoint store) const {
  const Extent extent = extentOf(side);
  const int sign = signOf(side);
  const int64_t half = FourierCodelet::half(tile.high), rowPoints = FourierCodelet::half(tile.wide);
  // The filter is the least to bear the 1 / n of a transform there and back.
  const double scale = side == Side::Filter ? 1 / double(tile.high * tile.wide) : 1;
  auto cell = [&](Value row, Value slot) {
    return e.at(buffer, e.mul(e.add(e.mul(row, pitch()), slot), e.lanes));
  };
  const FourierCodelet rows = FourierCodelet::fromReal(tile.wide, extent.cols, sign);
  e.loop(extent.rows, [&](Value row) {
    SmallVector<Value> points = emit(e, rows, [&](int64_t col) {
      Value pixel = load(row, col);
      if (scale == 1)
        return pixel;
      return arith::MulFOp::create(e.b, e.loc, e.number(scale, e.vectorType()), pixel).getResult();
    });
    for (int64_t point = 0; point < rowPoints; ++point)
      for (int64_t part = 0; part < 2; ++part)
        if (part == 0 || (point != 0 && 2 * point != tile.wide))
          e.storeAligned(points[part * rowPoints + point],
                         cell(row, e.constant(tile.slot(point, part))));
  });
  const FourierCodelet real = FourierCodelet::fromReal(tile.high, extent.rows, sign);
  e.loop(tile.realColumns(), [&](Value col) {
    SmallVector<Value> points =
        emit(e, real, [&](int64_t row) { return e.loadAligned(cell(e.constant(row), col)); });
    Value first = e.add(e.mul(col, half), tile.firstRealPoint());
    for (int64_t i = 0; i < 2 * half; ++i)
      store(e.add(first, i % half), i / half, points[i]);
  });
  const FourierCodelet complex = FourierCodelet::complex(tile.high, extent.rows, tile.high, sign);
  e.loop(tile.complexColumns(), [&](Value col) {
    Value slots = e.mul(e.add(col, 1), 2), first = e.mul(col, tile.high);
    SmallVector<Value> points = emit(e, complex, [&](int64_t i) {
      return e.loadAligned(cell(e.constant(i % extent.rows), e.add(slots, i / extent.rows)));
    });
    for (int64_t i = 0; i < 2 * tile.high; ++i)
      store(e.add(first, i % tile.high), i / tile.high, points[i]);
  });
}

void FourierTransform::toPixels(PackEmitter &e, Side side, Value buffer, LoadPoint load,
                                StorePixel store) const {
  const Extent extent = extentOf(side);
  // Forward the product turns like the source; so does the filter's gradient.
  const int sign = 1;
  const int64_t half = FourierCodelet::half(tile.high), rowPoints = FourierCodelet::half(tile.wide);
  const double scale = side == Side::Filter ? 1 / double(tile.high * tile.wide) : 1;
  auto cell = [&](Value row, Value slot) {
    return e.at(buffer, e.mul(e.add(e.mul(row, pitch()), slot), e.lanes));
  };
  const FourierCodelet real = FourierCodelet::toReal(tile.high, extent.rows, sign);
  e.loop(tile.realColumns(), [&](Value col) {
    Value first = e.add(e.mul(col, half), tile.firstRealPoint());
    SmallVector<Value> numbers =
        emit(e, real, [&](int64_t i) { return load(e.add(first, i % half), i / half); });
    for (auto [row, number] : llvm::enumerate(numbers))
      e.storeAligned(number, cell(e.constant(int64_t(row)), col));
  });
  const FourierCodelet complex = FourierCodelet::complex(tile.high, tile.high, extent.rows, sign);
  e.loop(tile.complexColumns(), [&](Value col) {
    Value slots = e.mul(e.add(col, 1), 2), first = e.mul(col, tile.high);
    SmallVector<Value> numbers = emit(
        e, complex, [&](int64_t i) { return load(e.add(first, i % tile.high), i / tile.high); });
    for (int64_t i = 0; i < 2 * extent.rows; ++i)
      e.storeAligned(numbers[i], cell(e.constant(i % extent.rows), e.add(slots, i / extent.rows)));
  });
  const FourierCodelet rows = FourierCodelet::toReal(tile.wide, extent.cols, sign);
  e.loop(extent.rows, [&](Value row) {
    SmallVector<Value> numbers = emit(e, rows, [&](int64_t i) {
      return e.loadAligned(cell(row, e.constant(tile.slot(i % rowPoints, i / rowPoints))));
    });
    for (auto [col, number] : llvm::enumerate(numbers)) {
      if (scale != 1)
        number = arith::MulFOp::create(e.b, e.loc, e.number(scale, e.vectorType()), number);
      store(row, int64_t(col), number);
    }
  });
}

//===------------------------------------------------------------------------------------------===//
// Cost
//===------------------------------------------------------------------------------------------===//

/// Operations, loads and stores, of which a cycle takes two, and what leaves the registers between:
/// measured on AlexNet's layers.
static double cyclesOf(const FourierCodelet &codelet) {
  const double inputs = double(int64_t(codelet.operations().size()) - codelet.count());
  return 0.8 * (double(codelet.count()) + inputs + double(codelet.outputs().size()));
}

double FourierTransform::cyclesToPoints(Side side) const {
  const Extent extent = extentOf(side);
  return double(extent.rows) * cyclesOf(FourierCodelet::fromReal(tile.wide, extent.cols, 1)) +
         double(tile.realColumns()) *
             cyclesOf(FourierCodelet::fromReal(tile.high, extent.rows, 1)) +
         double(tile.complexColumns()) *
             cyclesOf(FourierCodelet::complex(tile.high, extent.rows, tile.high, 1));
}

double FourierTransform::cyclesToPixels(Side side) const {
  const Extent extent = extentOf(side);
  return double(extent.rows) * cyclesOf(FourierCodelet::toReal(tile.wide, extent.cols, 1)) +
         double(tile.realColumns()) * cyclesOf(FourierCodelet::toReal(tile.high, extent.rows, 1)) +
         double(tile.complexColumns()) *
             cyclesOf(FourierCodelet::complex(tile.high, tile.high, extent.rows, 1));
}
