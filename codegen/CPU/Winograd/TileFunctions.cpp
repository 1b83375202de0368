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
  explicit TileArguments(PackEmitter &e, LLVM::LLVMFuncOp function)
      : rows(e, function.getArgument(0), function.getArgument(1)),
        points(e, function.getArgument(2), function.getArgument(3)),
        partStride(function.getArgument(4)), numbers(function.getArgument(5)) {}

  Places rows, points;
  Value partStride, numbers;
};

using EmitTransform = llvm::function_ref<void(PackEmitter &e, TileArguments &arguments)>;

} // namespace

/// The function of `e`'s module of this name, made on first use.
static LLVM::LLVMFuncOp tileFunction(PackEmitter &e, StringRef name, EmitTransform emit) {
  if (auto found = e.module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return found;
  OpBuilder b(e.module.getContext());
  PackEmitter inside(b, e.loc, e.module, e.target);
  Type pointer = e.pointerType(), number = b.getI64Type();
  auto function = createFunction(b, e.loc, e.module, e.target, name,
                                 {pointer, number, pointer, number, number, pointer},
                                 /*exported=*/false);
  TileArguments arguments(inside, function);
  emit(inside, arguments);
  LLVM::ReturnOp::create(b, e.loc, ValueRange());
  return function;
}

static void call(PackEmitter &e, LLVM::LLVMFuncOp function, const TilePlaces &places) {
  LLVM::CallOp::create(e.b, e.loc, function,
                       ValueRange{places.pixels, e.constant(places.rowStride), places.points,
                                  e.constant(places.pointStride), e.constant(places.partStride),
                                  places.numbers});
}

static StringRef nameOf(Side side) {
  return side == Side::Source ? "source" : side == Side::Filter ? "filter" : "target";
}

static Value partOf(PackEmitter &e, TileArguments &arguments, Value point, int64_t part) {
  return e.at(arguments.points.at(point), e.mul(arguments.partStride, part));
}

static Value pixelOf(PackEmitter &e, TileArguments &arguments, Value row, int64_t col) {
  return e.at(arguments.rows.at(row), col * e.lanes);
}

void codegen::callToPoints(PackEmitter &e, const TileTransform &transform, Side side,
                           const TilePlaces &places) {
  auto emit = [&](PackEmitter &e, TileArguments &arguments) {
    transform.toPoints(
        e, side, arguments.numbers,
        [&](Value row, int64_t col) { return e.loadAligned(pixelOf(e, arguments, row, col)); },
        [&](Value point, int64_t part, Value value) {
          e.storeAligned(value, partOf(e, arguments, point, part));
        });
  };
  call(e, tileFunction(e, (nameOf(side) + "_to_points").str(), emit), places);
}

void codegen::callToPixels(PackEmitter &e, const TileTransform &transform, Side side,
                           const TilePlaces &places) {
  auto emit = [&](PackEmitter &e, TileArguments &arguments) {
    transform.toPixels(
        e, side, arguments.numbers,
        [&](Value point, int64_t part) { return e.loadAligned(partOf(e, arguments, point, part)); },
        [&](Value row, int64_t col, Value value) {
          e.storeAligned(value, pixelOf(e, arguments, row, col));
        });
  };
  call(e, tileFunction(e, (nameOf(side) + "_to_pixels").str(), emit), places);
}

Value codegen::pointPlace(PackEmitter &e, Value base, Value point, int64_t pointStride,
                          int64_t part, int64_t partStride) {
  return e.at(base, e.add(e.mul(point, pointStride), part * partStride));
}
