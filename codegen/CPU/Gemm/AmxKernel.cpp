//===- AmxKernel.cpp - products of pairs of bf16 by AMX tiles ---------------------------------===//
//
// AMX's TDPBF16PS multiplies 16 rows of 16 pairs of bf16 with 16 steps of 16 columns and adds to a
// tile of 16x16 f32: eight registers of 1 KiB hold up to four tiles of sums and what a group of
// steps reads. A tile is loaded row by row, at one distance: rows of A are 16 steps that follow
// each other, rows of B a step's columns. Of a group it adds the even and the odd products on their
// own, by multiply-adds of f32, then both sums, and that to what there is. Whatever is denormal,
// read or computed, is 0.
//
// Registers have a shape, which a thread sets before it uses them: here all are whole, so that one
// setting serves all tiles of a task. Shorter ones take as long.
//
//===------------------------------------------------------------------------------------------===//
#include "codegen/CPU/Gemm/MicroKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
/// Rows of a register, its columns of f32, and registers.
constexpr int64_t side = 16, registers = 8;

class AmxKernel : public MicroKernel {
public:
  StringRef name() const override { return "amx"; }
  bool takes(Element element, const CpuTarget &target) const override {
    const uint64_t needed = DLC_CPU_AVX512 | DLC_CPU_AMX_BF16;
    return element.stored.isBF16() && (target.required & needed) == needed && !target.isStrict();
  }
  int64_t step() const override { return 2; }
  int64_t group() const override { return side; }
  PackedFormat formatA(Element element) const override { return {element.stored, 2}; }
  PackedFormat formatB(Element element) const override { return {element.stored, 2}; }

  int64_t mostRows(const MachineModel &, int64_t vectors) const override {
    return std::max<int64_t>(0, (registers - vectors) / (vectors + 1) * side);
  }
  /// The longer of multiplications and loads of tiles.
  double cycles(const MachineModel &m, int64_t rows, int64_t vectors) const override {
    const auto tiles = double(ceilDiv(rows, side));
    const double products = tiles * double(vectors) * m.amxDotCycles,
                 loads = (tiles + double(vectors)) * m.amxLoadCycles;
    return std::max(products, loads) / side;
  }
  LLVM::LLVMFuncOp emit(ModuleOp module, const CpuTarget &target, Element element,
                        const MicroTile &tile, StringRef name) const override;
  void begin(PackEmitter &e) const override;
  void end(PackEmitter &e) const override { call(e, "llvm.x86.tilerelease", {}); }

  static void call(PackEmitter &e, StringRef intrinsic, ValueRange arguments) {
    LLVM::CallIntrinsicOp::create(e.b, e.loc, e.b.getStringAttr(intrinsic), arguments);
  }
};

/// The function's pieces while it is built. Tiles of sums stand in the first registers, row by row,
/// then come those of A and of B.
struct TileBuilder {
  PackEmitter &e;
  const MicroTile &tile;
  int64_t rows = ceilDiv(tile.rows(), side), columns = tile.vectors;

  Value number(int64_t value) {
    return LLVM::ConstantOp::create(e.b, e.loc, e.b.getI8Type(), e.b.getI8IntegerAttr(value));
  }
  int64_t sum(int64_t row, int64_t column) const { return row * columns + column; }
  int64_t ofA(int64_t row) const { return rows * columns + row; }
  int64_t ofB(int64_t column) const { return ofA(rows) + column; }
  /// `distance` is that of rows, in places.
  void load(int64_t where, Value place, Value distance) {
    AmxKernel::call(e, "llvm.x86.tileloadd64", {number(where), place, e.mul(distance, 4)});
  }
  void forEachSum(Value acc, llvm::function_ref<void(int64_t where, Value place)> body) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column)
        body(sum(row, column), e.at(acc, (row * columns * side + column) * side));
  }
  void multiply(Value a, Value b, Value distanceB);
};
} // namespace

void AmxKernel::begin(PackEmitter &e) const {
  // palette 1, first row 0, 14 bytes of nothing; bytes of the rows of 16 registers, and rows.
  SmallVector<int8_t> bytes(64, 0);
  bytes[0] = 1;
  for (int64_t number = 0; number < registers; ++number)
    bytes[16 + 2 * number] = 4 * side, bytes[48 + number] = side;
  const StringRef name = "tile_shapes";
  if (!e.module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToEnd(e.module.getBody());
    LLVM::GlobalOp::create(
        e.b, e.loc, LLVM::LLVMArrayType::get(e.b.getI8Type(), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name,
        DenseElementsAttr::get(RankedTensorType::get({int64_t(bytes.size())}, e.b.getI8Type()),
                               ArrayRef<int8_t>(bytes)),
        /*alignment=*/64);
  }
  call(e, "llvm.x86.ldtilecfg",
       LLVM::AddressOfOp::create(e.b, e.loc, e.pointerType(), name).getResult());
}

/// A group of steps.
void TileBuilder::multiply(Value a, Value b, Value distanceB) {
  for (int64_t column = 0; column < columns; ++column)
    load(ofB(column), e.at(b, column * side), distanceB);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = tile.rowOffsets[row * side];
    load(ofA(row), e.at(a, first), e.constant(tile.rowOffsets[row * side + 1] - first));
    for (int64_t column = 0; column < columns; ++column)
      AmxKernel::call(e, "llvm.x86.tdpbf16ps",
                      {number(sum(row, column)), number(ofA(row)), number(ofB(column))});
  }
}

LLVM::LLVMFuncOp AmxKernel::emit(ModuleOp module, const CpuTarget &target, Element element,
                                 const MicroTile &tile, StringRef name) const {
  assert(tile.rows() % side == 0 && tile.columnOffsets.empty() && tile.targetOffsets.empty() &&
         tile.imaginary == 0 && !tile.laterOffsets);
  OpBuilder b(module.getContext());
  PackEmitter e(b, module.getLoc(), module, target, element);
  Type p = e.pointerType(), i64 = b.getI64Type();
  SmallVector<Type> types = {p, p, p, i64, p, b.getI1Type(), i64};
  if (tile.laterLines)
    types.push_back(p);
  auto function = createFunction(b, e.loc, module, target, name, types, /*exported=*/false);
  Value a = function.getArgument(0), panel = function.getArgument(1),
        offsets = function.getArgument(2), steps = function.getArgument(3),
        acc = function.getArgument(4), accumulate = function.getArgument(5),
        apart = function.getArgument(6);
  const int64_t width = tile.vectors * side;
  TileBuilder builder{e, tile};
  auto load = [&](int64_t where, Value place) { builder.load(where, place, e.constant(width)); };
  auto zero = [&](int64_t where, Value) { call(e, "llvm.x86.tilezero", {builder.number(where)}); };
  e.branch(
      accumulate, [&] { builder.forEachSum(acc, load); }, [&] { builder.forEachSum(acc, zero); });
  Value block = e.mul(apart, side);
  // A loop's step is a constant.
  e.loop(e.constant(0), arith::DivUIOp::create(b, e.loc, steps, block), 1, [&](Value number) {
    e.loop(e.constant(0), apart, 1, [&](Value first) {
      Value step = e.add(e.mul(number, block), first);
      for (int64_t line = 0; line < tile.laterLines; ++line) {
        Value group = e.add(e.mul(number, apart), first);
        Value place = e.mul(e.add(e.mul(group, tile.laterLines), line), e.element.line());
        e.prefetch(e.at(function.getArgument(7), place), /*forWriting=*/false, /*locality=*/2);
      }
      Value row = e.at(a, tile.stepA ? e.mul(step, tile.stepA) : e.entry(offsets, step));
      builder.multiply(row, e.at(panel, e.mul(step, width)), e.mul(apart, width));
    });
  });
  builder.forEachSum(acc, [&](int64_t where, Value place) {
    call(e, "llvm.x86.tilestored64", {builder.number(where), place, e.constant(4 * width)});
  });
  LLVM::ReturnOp::create(b, e.loc, ValueRange());
  return function;
}

const MicroKernel &codegen::amxKernel() {
  static const AmxKernel kernel;
  return kernel;
}
