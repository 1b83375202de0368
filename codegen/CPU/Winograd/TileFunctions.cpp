//===- TileFunctions.cpp - see TileFunctions.h ------------------------------------------------===//
#include "codegen/CPU/Winograd/TileFunctions.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;
using Side = TileTransform::Side;

namespace {

/// Places that stand at equal distances. Known numbers are reached from the one before, by one
/// addition where a transform goes in order; else each would take a multiplication.
class Places {
public:
  Places(PackEmitter &e, Value base, Value stride)
      : e(e), base(base), stride(stride), last(base), lastNumber(0) {}

  Value at(Value number) {
    auto known = CodeEmitter::known(number);
    if (!known || last.getParentBlock() != e.b.getBlock())
      return e.at(base, e.mul(number, stride));
    last = e.at(last, e.mul(stride, *known - lastNumber));
    lastNumber = *known;
    return last;
  }

private:
  PackEmitter &e;
  Value base, stride, last;
  int64_t lastNumber;
};

/// The function's arguments.
struct TileArguments {
  TileArguments(PackEmitter &e, ValueRange arguments)
      : rows(e, arguments[0], arguments[1]), points(e, arguments[2], arguments[3]),
        partStride(arguments[4]), numbers(arguments[5]) {}

  Places rows, points;
  Value partStride, numbers;
};

using EmitTransform = llvm::function_ref<void(PackEmitter &e, TileArguments &arguments)>;

} // namespace

static StringRef nameOf(Side side) {
  return side == Side::Source ? "source" : side == Side::Filter ? "filter" : "target";
}

/// Calls the function that transforms a side's tile `to` points or pixels.
static void call(PackEmitter &e, const TileTransform &transform, Side side, StringRef to,
                 const TilePlaces &places, EmitTransform emit) {
  e.callFunction((nameOf(side) + "_to_" + to + transform.suffix()).str(),
                 {places.pixels, e.constant(places.rowStride), places.points,
                  e.constant(places.pointStride), e.constant(places.partStride), places.numbers},
                 [&](PackEmitter &inside, ValueRange values) {
                   TileArguments arguments(inside, values);
                   emit(inside, arguments);
                 });
}

static Value partOf(PackEmitter &e, TileArguments &arguments, Value point, int64_t part) {
  return e.at(arguments.points.at(point), e.mul(arguments.partStride, part));
}

static Value pixelOf(PackEmitter &e, TileArguments &arguments, Value row, int64_t col) {
  return e.at(arguments.rows.at(row), col * e.lanes);
}

void codegen::callToPoints(PackEmitter &e, const TileTransform &transform, Side side,
                           const TilePlaces &places) {
  call(e, transform, side, "points", places, [&](PackEmitter &e, TileArguments &arguments) {
    auto store = [&](Value point, int64_t part, Value value) {
      Value place = partOf(e, arguments, point, part);
      places.streams ? e.storeStreamed(value, place) : e.storeAligned(value, place);
    };
    transform.toPoints(
        e, side, arguments.numbers,
        [&](Value row, int64_t col) { return e.loadAligned(pixelOf(e, arguments, row, col)); },
        store);
    if (places.clears)
      for (int64_t point : transform.missingPoints())
        store(e.constant(point), 0, e.zeroVector());
  });
}

void codegen::callToPixels(PackEmitter &e, const TileTransform &transform, Side side,
                           const TilePlaces &places) {
  call(e, transform, side, "pixels", places, [&](PackEmitter &e, TileArguments &arguments) {
    transform.toPixels(
        e, side, arguments.numbers,
        [&](Value point, int64_t part) { return e.loadAligned(partOf(e, arguments, point, part)); },
        [&](Value row, int64_t col, Value value) {
          e.storeAligned(value, pixelOf(e, arguments, row, col));
        });
  });
}

Value codegen::pointPlace(PackEmitter &e, Value base, Value point, int64_t pointStride,
                          int64_t part, int64_t partStride) {
  return e.at(base, e.add(e.mul(point, pointStride), part * partStride));
}
