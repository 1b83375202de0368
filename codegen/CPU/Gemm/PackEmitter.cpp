//===- PackEmitter.cpp - see PackEmitter.h ----------------------------------------------------===//
#include "codegen/CPU/Gemm/PackEmitter.h"
#include "codegen/CPU/CostModel.h"
#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Reduce/BandReducer.h"
#include "dialects/DL/Ops/DLElementwiseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Vectors
//===------------------------------------------------------------------------------------------===//

Value PackEmitter::loadAligned(Value pointer) {
  return LLVM::LoadOp::create(b, loc, vectorType(), pointer, target.vectorBytes);
}
void PackEmitter::storeAligned(Value vector, Value pointer) {
  LLVM::StoreOp::create(b, loc, vector, pointer, target.vectorBytes);
}
bool PackEmitter::streams(int64_t bytes) const {
  return target.vectorBytes == lineBytes && bytes > target.machine.lastCacheBytes();
}
void PackEmitter::storeStreamed(Value vector, Value pointer) {
  LLVM::StoreOp::create(b, loc, vector, pointer, target.vectorBytes, /*isVolatile=*/false,
                        /*isNonTemporal=*/true);
}
void PackEmitter::endStreams() { LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::seq_cst); }
void PackEmitter::storeUnaligned(Value vector, Value pointer) {
  LLVM::StoreOp::create(b, loc, vector, pointer, /*alignment=*/element.bytes());
}

/// A vector of other elements in the same bits.
static Value bitsAs(PackEmitter &e, Value vector, int64_t lanes, Type element) {
  return LLVM::BitcastOp::create(e.b, e.loc, VectorType::get({lanes}, element), vector);
}

Value PackEmitter::loadPlaces(Value pointer, Value count) {
  Value mask = firstLanes(count, 2 * lanes);
  return bitsAs(*this, loadVector(pointer, constant(0), element.stored, 2 * lanes, 1, mask), lanes,
                floatType());
}

Value PackEmitter::pairUp(Value even, Value odd) {
  auto type = VectorType::get({lanes}, b.getI32Type());
  Value low =
      arith::ShRUIOp::create(b, loc, bitsAs(*this, even, lanes, b.getI32Type()), number(16, type));
  Value high = arith::AndIOp::create(b, loc, bitsAs(*this, odd, lanes, b.getI32Type()),
                                     number(int32_t(0xffff0000), type));
  return bitsAs(*this, arith::OrIOp::create(b, loc, low, high), lanes, floatType());
}

Value PackEmitter::joinPairs(Value low, Value high) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
  Value both = vector::ShuffleOp::create(b, loc, bitsAs(*this, low, lanes, b.getI16Type()),
                                         bitsAs(*this, high, lanes, b.getI16Type()), order);
  return bitsAs(*this, both, lanes, floatType());
}

void PackEmitter::prefetch(Value pointer, bool forWriting, unsigned locality) {
  LLVM::Prefetch::create(b, loc, pointer, forWriting, locality, /*cache=*/1);
}

Value PackEmitter::entry(Value table, Value index) {
  Value narrow = CodeEmitter::load(table, index, b.getI32Type());
  return arith::ExtSIOp::create(b, loc, b.getI64Type(), narrow);
}

Value PackEmitter::table(StringRef name, ArrayRef<int64_t> values) {
  assert(fitsTable(values) && "a candidate whose entries do not fit is not offered");
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI32Type(), values.size());
    LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name,
                           b.getI32TensorAttr(llvm::to_vector_of<int32_t>(values)),
                           /*alignment=*/64);
  }
  return LLVM::AddressOfOp::create(b, loc, pointerType(), name);
}

Value PackEmitter::sum(Value first, int64_t count, llvm::function_ref<Value(Value)> term) {
  auto turn = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    return {arith::AddFOp::create(b, loc, carried[0], term(index)).getResult()};
  };
  return carry(constant(1), constant(count), 1, first, turn).front();
}

Value PackEmitter::lanesFrom(Value bound) {
  auto value = known(bound);
  if (value && *value <= 0)
    return {};
  Value narrow = b.createOrFold<arith::TruncIOp>(loc, b.getI32Type(), bound);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, laneNumbers(lanes),
                               splat(narrow, lanes));
}

Value PackEmitter::intersect(Value a, Value c) {
  return a && c ? arith::AndIOp::create(b, loc, a, c).getResult() : a ? a : c;
}

void PackEmitter::forLanes(Value count, llvm::function_ref<void(Value)> body) {
  if (known(count) || target.masksLanes)
    return body(lanesBelow(count));
  Value whole = less(constant(lanes - 1), count);
  when(whole, [&] { body({}); });
  Value some = both(less(constant(0), count), less(count, constant(lanes)));
  when(some, [&] { body(lanesBelow(count)); });
}

void PackEmitter::forLanes(Value first, Value end, llvm::function_ref<void(Value)> body) {
  Value mask = intersect(lanesFrom(first), lanesBelow(end));
  if (!mask)
    return body({});
  Value count = sub(minimum(end, constant(lanes)), maximum(first, constant(0)));
  Value some = less(constant(0), count);
  if (!target.masksLanes) {
    when(equal(count, constant(lanes)), [&] { body({}); });
    some = both(some, less(count, constant(lanes)));
  }
  when(some, [&] { body(mask); });
}

Value PackEmitter::readLanes(Value count, Value mask, llvm::function_ref<Value(Value)> read) {
  if (!mask || !element.widens() || target.masksLanes)
    return read(mask);
  auto branch = scf::IfOp::create(b, loc, vectorType(), less(constant(lanes - 1), count),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, loc, read({}));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, loc, read(mask));
  return branch.getResult(0);
}

void PackEmitter::clearRows(Value tile, Value first) {
  loop(first, constant(lanes), 1,
       [&](Value row) { storeAligned(zeroVector(), at(tile, mul(row, lanes))); });
}

Value PackEmitter::alternate(Value even, Value odd, bool upper) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes / 2; ++lane)
    for (int64_t side = 0; side < 2; ++side)
      order.push_back(side * lanes + (upper ? lanes / 2 : 0) + lane);
  return vector::ShuffleOp::create(b, loc, even, odd, order);
}

//===------------------------------------------------------------------------------------------===//
// Transposition
//===------------------------------------------------------------------------------------------===//

/// Lanes of a block of 128 bits.
static int64_t blockLanes(const PackEmitter &e) { return 16 / e.element.bytes(); }

/// One level of a transposition inside 128-bit blocks: interleaves groups of `group` lanes of two
/// rows.
static Value interleave(PackEmitter &e, Value low, Value high, int64_t group, bool upper) {
  SmallVector<int64_t> lanes;
  const int64_t size = blockLanes(e);
  for (int64_t block = 0; block < e.lanes; block += size)
    for (int64_t i = 0; i < size; i += 2 * group)
      for (int64_t side = 0; side < 2; ++side)
        for (int64_t lane = 0; lane < group; ++lane)
          lanes.push_back(side * e.lanes + block + i / 2 + (upper ? size / 2 : 0) + lane);
  return vector::ShuffleOp::create(e.b, e.loc, low, high, lanes);
}

/// Takes the even or odd 128-bit blocks of two rows.
static Value pickBlocks(PackEmitter &e, Value low, Value high, bool odd) {
  SmallVector<int64_t> lanes;
  const int64_t size = blockLanes(e);
  for (int64_t side = 0; side < 2; ++side)
    for (int64_t block = odd ? size : 0; block < e.lanes; block += 2 * size)
      for (int64_t lane = 0; lane < size; ++lane)
        lanes.push_back(side * e.lanes + block + lane);
  return vector::ShuffleOp::create(e.b, e.loc, low, high, lanes);
}

/// Transposes the 128-bit blocks rows[0..n) (n blocks each) and returns the result's rows in order.
static SmallVector<Value> transposeBlocks(PackEmitter &e, ArrayRef<Value> rows) {
  if (rows.size() == 1)
    return {rows[0]};
  SmallVector<Value> even, odd, result(rows.size());
  for (size_t i = 0; i < rows.size(); i += 2) {
    even.push_back(pickBlocks(e, rows[i], rows[i + 1], false));
    odd.push_back(pickBlocks(e, rows[i], rows[i + 1], true));
  }
  SmallVector<Value> evens = transposeBlocks(e, even), odds = transposeBlocks(e, odd);
  for (size_t i = 0; i < evens.size(); ++i) {
    result[2 * i] = evens[i];
    result[2 * i + 1] = odds[i];
  }
  return result;
}

void PackEmitter::callFunction(
    StringRef name, ValueRange arguments,
    llvm::function_ref<void(PackEmitter &e, ValueRange arguments)> emit) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder inside(module.getContext());
    function = createFunction(inside, loc, module, target, name,
                              llvm::to_vector(arguments.getTypes()), /*exported=*/false);
    PackEmitter e(inside, loc, module, target, element);
    emit(e, function.getArguments());
    LLVM::ReturnOp::create(inside, loc, ValueRange());
  }
  LLVM::CallOp::create(b, loc, function, arguments);
}

/// Column j of the result holds element j of each block of the rows, as many as a block has lanes,
/// in their order.
static SmallVector<Value> transposeInBlocks(PackEmitter &e, ArrayRef<Value> rows) {
  if (rows.size() == 2)
    return {interleave(e, rows[0], rows[1], 1, false), interleave(e, rows[0], rows[1], 1, true)};
  Value t[4] = {interleave(e, rows[0], rows[1], 1, false), interleave(e, rows[0], rows[1], 1, true),
                interleave(e, rows[2], rows[3], 1, false),
                interleave(e, rows[2], rows[3], 1, true)};
  SmallVector<Value> columns;
  for (int64_t j = 0; j < 4; ++j)
    columns.push_back(interleave(e, t[j / 2], t[j / 2 + 2], 2, j % 2));
  return columns;
}

/// Transposes a tile of `rows` to `target`, `stride` elements between its rows.
static void storeTransposed(PackEmitter &e, ArrayRef<Value> rows, Value target, Value stride) {
  // columns[g + j] holds column size * block + j of rows g .. g + size - 1 in each of its blocks.
  const int64_t size = blockLanes(e);
  SmallVector<Value> columns;
  for (int64_t g = 0; g < e.lanes; g += size)
    columns.append(transposeInBlocks(e, rows.slice(g, size)));
  for (int64_t j = 0; j < size; ++j) {
    SmallVector<Value> blocks;
    for (int64_t g = 0; g < e.lanes; g += size)
      blocks.push_back(columns[g + j]);
    for (auto [block, row] : llvm::enumerate(transposeBlocks(e, blocks)))
      e.storeUnaligned(row, e.at(target, e.mul(stride, int64_t(size * block + j))));
  }
}

void PackEmitter::transpose(Value source, Value sourceStride, Value target, Value targetStride) {
  callFunction("transpose_tile", {source, sourceStride, target, targetStride},
               [](PackEmitter &e, ValueRange arguments) {
                 SmallVector<Value> rows;
                 for (int64_t r = 0; r < e.lanes; ++r)
                   rows.push_back(
                       e.loadVector(arguments[0], e.mul(arguments[1], r), e.floatType(), e.lanes));
                 storeTransposed(e, rows, arguments[2], arguments[3]);
               });
}

void PackEmitter::transposeStored(Value source, Value sourceStride, Value target,
                                  Value targetStride) {
  if (!element.widens())
    return transpose(source, sourceStride, target, targetStride);
  callFunction("transpose_stored", {source, sourceStride, target, targetStride},
               [](PackEmitter &e, ValueRange arguments) {
                 SmallVector<Value> rows;
                 for (int64_t r = 0; r < e.lanes; ++r)
                   rows.push_back(e.loadStored(e.atStored(arguments[0], e.mul(arguments[1], r))));
                 storeTransposed(e, rows, arguments[2], arguments[3]);
               });
}

void PackEmitter::transposePairs(Value source, Value sourceStride, Value target,
                                 Value targetStride) {
  callFunction("transpose_pairs", {source, sourceStride, target, targetStride},
               [](PackEmitter &e, ValueRange arguments) {
                 SmallVector<Value> rows;
                 for (int64_t r = 0; r < e.lanes; ++r)
                   rows.push_back(e.loadPlaces(e.atStored(arguments[0], e.mul(arguments[1], r)),
                                               e.constant(2 * e.lanes)));
                 storeTransposed(e, rows, arguments[2], arguments[3]);
               });
}

//===------------------------------------------------------------------------------------------===//
// Operands and results
//===------------------------------------------------------------------------------------------===//

PackedPhase::IndexMap PackedPhase::IndexMap::identity(ArrayRef<int64_t> shape) {
  return {SmallVector<int64_t>(shape),
          llvm::to_vector(llvm::seq<unsigned>(0, unsigned(shape.size())))};
}

/// The value that `value` is in another layout.
static Value inAnyLayout(Value value) {
  while (auto convert = value.getDefiningOp<dl::ConvertLayoutOp>())
    value = convert.getX();
  return value;
}

BlockArgument codegen::operandAsStored(Value value) {
  return dyn_cast<BlockArgument>(inAnyLayout(value));
}

SmallVector<Value> PackedPhase::tensorIndices(ValueRange indices, const IndexMap &map) {
  SmallVector<Value> result(map.shape.size());
  for (auto [index, axis] : llvm::zip_equal(indices, map.order))
    result[axis] = index;
  if (map.wraps)
    result[map.order[0]] = e.rem(indices[0], map.shape[map.order[0]]);
  return result;
}

Value PackedPhase::addressOf(Value base, Type element, ValueRange indices, const IndexMap &map,
                             ArrayRef<int64_t> strides) {
  Value offset = e.constant(0);
  for (auto [index, stride] : llvm::zip_equal(tensorIndices(indices, map), strides))
    offset = e.add(offset, e.mul(index, stride));
  return e.at(base, offset, element);
}

void PackedPhase::prefetchAt(Value base, RankedTensorType type, ValueRange indices,
                             const IndexMap &map, bool forWriting) {
  auto strides = stridesIn(type, map.shape);
  if (Type element = type.getElementType(); strides && isa<FloatType>(element))
    e.prefetch(addressOf(base, element, indices, map, *strides), forWriting);
}

void PackedPhase::prefetchRead(ArrayRef<BlockArgument> read, ValueRange indices,
                               const IndexMap &map) {
  for (BlockArgument argument : read)
    prefetchAt(kernel.operand(argument.getArgNumber()), cast<RankedTensorType>(argument.getType()),
               indices, map, /*forWriting=*/false);
}

Point PackedPhase::pointOf(const Place &place, const IndexMap &map) {
  Point point;
  point.shape = map.shape;
  point.indices = tensorIndices(place.indices, map);
  point.axis = map.order[place.axis];
  point.width = e.lanes;
  point.step = place.step;
  point.mask = place.mask;
  return point;
}

/// Operands that some values are computed of, element by element: of as many.
static SmallVector<BlockArgument> readOf(const KernelSpec &spec, ArrayRef<Value> values,
                                         int64_t elements) {
  llvm::SetVector<Value> slice(values.begin(), values.end());
  for (size_t i = 0; i < slice.size(); ++i)
    if (Operation *op = slice[i].getDefiningOp(); op && !spec.anchorResult(slice[i]))
      slice.insert(op->operand_begin(), op->operand_end());
  SmallVector<BlockArgument> read;
  for (Value value : slice)
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && cast<RankedTensorType>(argument.getType()).getNumElements() == elements)
      read.push_back(argument);
  return read;
}

/// Operands that are read at the place of the result that is computed behind the anchor: addends,
/// what a mask is computed of.
static SmallVector<BlockArgument> readBehindAnchor(const KernelSpec &spec, int64_t elements) {
  SmallVector<Value> results;
  for (unsigned number : resultsBehindAnchor(spec, true))
    results.push_back(spec.result(number));
  return readOf(spec, results, elements);
}

/// stridesIn along indices in place of axes.
static std::optional<SmallVector<int64_t>> stridesOfIndices(RankedTensorType type,
                                                            const PackedPhase::IndexMap &map) {
  auto strides = stridesIn(type, map.shape);
  if (!strides)
    return std::nullopt;
  return llvm::map_to_vector(map.order, [&](unsigned axis) { return (*strides)[axis]; });
}

Source PackedPhase::source(unsigned number, const IndexMap &map) {
  Value value = kernel.spec.anchorOp()->getOperand(number);
  BlockArgument argument = operandAsStored(value);
  Source source;
  auto readAs = [this, value, argument, map](const Place &place, Type element) -> Value {
    Value zero = e.number(0, VectorType::get({e.lanes}, element));
    Value vector = kernel.body().emitVector(value, pointOf(place, map));
    if (!vector) {
      failed = true;
      return zero;
    }
    vector = e.convertFloat(vector, element);
    return argument ? vector : e.blend(place.mask, vector, zero);
  };
  source.read = [this, readAs](const Place &place) { return readAs(place, e.floatType()); };
  source.readStored = [this, readAs](const Place &place) {
    return readAs(place, e.element.stored);
  };
  source.prefetch = [this, value, map](ValueRange indices) {
    prefetchRead(readOf(kernel.spec, {value}, product(map.shape)), indices, map);
  };
  if (!argument)
    return source;
  auto type = cast<RankedTensorType>(argument.getType());
  auto strides = stridesIn(type, map.shape);
  if (!strides)
    return source;
  source.strides = *stridesOfIndices(type, map);
  source.address = [this, argument, map, strides = *strides](ValueRange indices) {
    return addressOf(kernel.operand(argument.getArgNumber()), e.element.stored, indices, map,
                     strides);
  };
  return source;
}

/// The numbers that whole tensors are computed from: learning rates, powers of a decay.
llvm::DenseMap<Value, Value> PackedPhase::computeNumbers() {
  llvm::DenseMap<Value, Value> numbers;
  BodyEmitter body = kernel.body({});
  auto add = [&](Value value) {
    if (cast<RankedTensorType>(value.getType()).getRank() == 0 &&
        !kernel.spec.dependsOnAnchor(value))
      numbers[value] = body.emit(value, Point());
  };
  llvm::for_each(kernel.spec.block().getArguments(), add);
  for (Operation &op : kernel.spec.block())
    if (isa<dl::ElementwiseOp>(op))
      add(op.getResult(0));
  return numbers;
}

SmallVector<BlockArgument> codegen::rowsReadBehindAnchor(const KernelSpec &spec,
                                                         const Element &element,
                                                         ArrayRef<int64_t> shape) {
  SmallVector<int64_t> rowMajor(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    rowMajor[axis - 1] = rowMajor[axis] * shape[axis];
  SmallVector<BlockArgument> read = readBehindAnchor(spec, product(shape));
  llvm::erase_if(read, [&](BlockArgument argument) {
    auto type = cast<RankedTensorType>(argument.getType());
    return type.getElementType() != element.computed || stridesIn(type, shape) != rowMajor;
  });
  return read;
}

std::optional<SmallVector<int64_t>> PackedPhase::storedStrides(const KernelSpec &spec,
                                                               const IndexMap &map) {
  SmallVector<unsigned> numbers = resultsBehindAnchor(spec, true);
  if (numbers.size() != 1 || spec.anchorResult(inAnyLayout(spec.result(numbers[0]))) != 0u)
    return std::nullopt;
  return stridesOfIndices(spec.resultTypes()[numbers[0]], map);
}

Sink PackedPhase::sink(const IndexMap &map) {
  Sink sink;
  auto bodyOf = [this, numbers = computeNumbers()](Value sum, const Point &point) {
    Value vector = e.convertFloat(sum, e.element.stored);
    BodyEmitter body = kernel.body(
        [vector, point](unsigned, const Point &at) { return at == point ? vector : Value(); });
    body.setKept([numbers](Value value, const Point &) { return numbers.lookup(value); });
    return body;
  };
  sink.write = [this, map, bodyOf](Value vector, const Place &place) {
    Point point = pointOf(place, map);
    failed |= mlir::failed(storeBodyAtPoints(kernel, resultsBehindAnchor(kernel.spec, true), point,
                                             [&] { return bodyOf(vector, point); }));
  };
  sink.reduced = [this, map, bodyOf](Value vector, const Place &place) {
    Point point = pointOf(place, map);
    BodyEmitter body = bodyOf(vector, point);
    SmallVector<Value> elements;
    for (dl::ReductionOp op : kernel.spec.reductions()) {
      elements.push_back(body.emitVector(op.getReduced(), point));
      failed |= !elements.back();
      if (!elements.back())
        elements.back() = e.zeroVector();
    }
    return elements;
  };
  sink.prefetch = [this, map](ValueRange indices) {
    prefetchRead(readBehindAnchor(kernel.spec, product(map.shape)), indices, map);
    for (unsigned number : resultsBehindAnchor(kernel.spec, true))
      prefetchAt(kernel.result(number), kernel.spec.resultTypes()[number], indices, map,
                 /*forWriting=*/true);
  };
  if (storedStrides(kernel.spec, map))
    sink.address = [this, map](ValueRange indices) {
      const unsigned number = resultsBehindAnchor(kernel.spec, true).front();
      return addressOf(kernel.result(number), e.element.stored, indices, map,
                       *stridesIn(kernel.spec.resultTypes()[number], map.shape));
    };
  return sink;
}

/// The rest of a pack: rows from `first` on by tiles through `tile`, as far as they exist. `read`
/// gives the elements of a lane from a step on.
static void packTiles(PackEmitter &e, Value first, Value left, Value steps, Value pitch,
                      Value target, Value tile,
                      llvm::function_ref<Value(Value lane, Value step, Value mask)> read) {
  Value zero = e.constant(0);
  // A panel may end inside the tile: then whole vectors of lanes lie outside.
  Value count = e.maximum(e.minimum(e.constant(e.lanes), left), zero);
  e.loop(first, steps, e.lanes, [&](Value step) {
    Value rows = e.minimum(e.constant(e.lanes), e.sub(steps, step));
    e.clearRows(tile, count);
    e.loop(zero, count, 1, [&](Value lane) {
      Value row =
          e.readLanes(rows, e.lanesBelow(rows), [&](Value mask) { return read(lane, step, mask); });
      e.storeAligned(row, e.at(tile, e.mul(lane, e.lanes)));
    });
    e.transpose(tile, e.constant(e.lanes), tile, e.constant(e.lanes));
    e.loop(zero, rows, 1, [&](Value row) {
      e.storeAligned(e.loadAligned(e.at(tile, e.mul(row, e.lanes))),
                     e.at(target, e.mul(e.add(step, row), pitch)));
    });
  });
}

/// Packs rows of a matrix that lies in memory as it is. Arguments: source, stride of lanes, left,
/// steps, pitch, target, tile.
static void emitPack(PackEmitter &e, ValueRange arguments) {
  Value source = arguments[0], stride = arguments[1], left = arguments[2], steps = arguments[3],
        pitch = arguments[4], target = arguments[5], buffer = arguments[6];
  // Tiles inside the matrix need no copy; the last one overlaps the one before it.
  Value zero = e.constant(0);
  Value inside =
      e.both(e.less(e.constant(e.lanes - 1), left), e.less(e.constant(e.lanes - 1), steps));
  Value whole = e.select(inside, steps, zero);
  e.loop(zero, whole, e.lanes, [&](Value tile) {
    Value step = e.minimum(tile, e.add(steps, -e.lanes));
    e.transposeStored(e.atStored(source, step), stride, e.at(target, e.mul(step, pitch)), pitch);
  });
  packTiles(e, whole, left, steps, pitch, target, buffer, [&](Value lane, Value step, Value mask) {
    return e.loadStored(e.atStored(e.atStored(source, e.mul(lane, stride)), step), mask);
  });
}

/// The same of one whose pairs are places, of which the last one may lack a number. Arguments:
/// those, and how many numbers a lane has.
static void emitPackPairs(PackEmitter &e, ValueRange arguments) {
  Value source = arguments[0], stride = arguments[1], left = arguments[2], steps = arguments[3],
        pitch = arguments[4], target = arguments[5], buffer = arguments[6], numbers = arguments[7];
  Value zero = e.constant(0), whole = e.div(numbers, 2);
  Value inside =
      e.both(e.less(e.constant(e.lanes - 1), left), e.less(e.constant(e.lanes - 1), whole));
  Value end = e.select(inside, whole, zero);
  e.loop(zero, end, e.lanes, [&](Value tile) {
    Value step = e.minimum(tile, e.add(whole, -e.lanes));
    e.transposePairs(e.atStored(source, e.mul(step, 2)), stride, e.at(target, e.mul(step, pitch)),
                     pitch);
  });
  packTiles(e, end, left, steps, pitch, target, buffer, [&](Value lane, Value step, Value) {
    Value first = e.mul(step, 2);
    return e.loadPlaces(e.atStored(e.atStored(source, e.mul(lane, stride)), first),
                        e.sub(numbers, first));
  });
}

/// A vector of places along index `along`, across the sum; the first `left` of them, others are
/// zero.
Value PackedPhase::readPairs(const Source &source, const PackedSum &sum, ArrayRef<Value> indices,
                             unsigned along, Value left) {
  const unsigned across = 3 - along;
  Value even = source.read({SmallVector<Value>(indices), along, 1, e.lanesBelow(left)});
  SmallVector<Value> next(indices);
  next[across] = e.add(next[across], 1);
  if (sum.length % 2 != 0) {
    Value last = e.constant(sum.length - 1);
    left = e.select(e.less(last, next[across]), e.constant(0), left);
    next[across] = e.minimum(next[across], last);
  }
  return e.pairUp(even, source.read({next, along, 1, e.lanesBelow(left)}));
}

Value PackedPhase::readSteps(const Source &source, const PackedSum &sum, ArrayRef<Value> indices,
                             unsigned across, Value left) {
  if (sum.format.numbers == 1)
    return e.readLanes(left, e.lanesBelow(left), [&](Value mask) {
      return source.read({SmallVector<Value>(indices), across, 1, mask});
    });
  Value numbers = e.sub(e.constant(sum.length), indices[across]);
  if (source.address && source.strides[across] == 1)
    return e.loadPlaces(source.address(indices), numbers);
  SmallVector<Value> next(indices);
  next[across] = e.minimum(e.add(next[across], e.lanes), e.constant(sum.length - 1));
  Value low = source.readStored({SmallVector<Value>(indices), across, 1, e.lanesBelow(numbers)});
  Value high = source.readStored({next, across, 1, e.lanesBelow(e.add(numbers, -e.lanes))});
  return e.joinPairs(low, high);
}

void PackedPhase::pack(const Source &source, const PackedSum &sum, ArrayRef<Value> corner,
                       unsigned along, bool lanesContiguous, Value left, Value steps, int64_t pitch,
                       Value target) {
  const unsigned across = 3 - along;
  const int64_t numbers = sum.format.numbers;
  auto moved = [&](Value lane, Value step) {
    SmallVector<Value> indices(corner);
    indices[along] = e.add(indices[along], lane);
    indices[across] = e.add(indices[across], e.mul(step, numbers));
    return indices;
  };
  Value zero = e.constant(0);
  if (lanesContiguous) {
    Value mask = e.lanesBelow(left);
    const int64_t ahead = 4; // rows: a part of each is read, too short for the processor to guess
    e.loop(zero, steps, 1, [&](Value step) {
      for (int64_t number = 0; source.address && number < numbers; ++number) {
        SmallVector<Value> later = moved(zero, e.add(step, ahead));
        later[across] = e.add(later[across], number);
        e.prefetch(source.address(later), /*forWriting=*/false);
      }
      Value vector = numbers == 2 ? readPairs(source, sum, moved(zero, step), along, left)
                                  : e.readLanes(left, mask, [&](Value mask) {
                                      return source.read({moved(zero, step), along, 1, mask});
                                    });
      e.storeAligned(vector, e.at(target, e.mul(step, pitch)));
    });
    return;
  }
  if (source.address && source.strides[across] == 1 && numbers == 2) {
    Value count = e.minimum(e.mul(steps, 2), e.sub(e.constant(sum.length), corner[across]));
    e.callFunction("pack_pairs",
                   {source.address(corner), e.constant(source.strides[along]), left, steps,
                    e.constant(pitch), target, tileBuffer, count},
                   emitPackPairs);
    return;
  }
  if (source.address && source.strides[across] == 1) {
    e.callFunction("pack_transposed",
                   {source.address(corner), e.constant(source.strides[along]), left, steps,
                    e.constant(pitch), target, tileBuffer},
                   emitPack);
    return;
  }
  packTiles(e, zero, left, steps, e.constant(pitch), target, tileBuffer,
            [&](Value lane, Value step, Value mask) {
              return numbers == 2
                         ? readSteps(source, sum, moved(lane, step), across, e.sub(steps, step))
                         : source.read({moved(lane, step), across, 1, mask});
            });
}

LogicalResult PackedPhase::finish() {
  kernel.finish();
  return failure(failed);
}

bool codegen::isVectorAxis(const KernelSpec &spec, ArrayRef<int64_t> space, unsigned axis) {
  SmallVector<Value> roots;
  for (unsigned number : resultsBehindAnchor(spec, true))
    roots.push_back(spec.result(number));
  if (spec.hasReductionsBehind())
    for (dl::ReductionOp op : spec.reductions())
      roots.push_back(op.getReduced());
  FailureOr<SmallVector<int64_t>> refined = refineIndexSpace(spec, roots, space);
  if (mlir::failed(refined))
    return false;
  // The axis is whole if the refined space has borders at both of its ends and none between.
  auto borders = [](ArrayRef<int64_t> shape) {
    SmallVector<int64_t> result{1};
    for (int64_t extent : llvm::reverse(shape))
      result.push_back(result.back() * extent);
    return result;
  };
  int64_t behind = product(space.drop_front(axis + 1));
  return llvm::none_of(borders(*refined), [&](int64_t border) {
    return border > behind && border < behind * space[axis];
  });
}

static FailureOr<WalkPlan> prologueWalk(const KernelSpec &spec, const CpuTarget &target,
                                        unsigned number) {
  Value result = spec.result(number);
  FailureOr<SmallVector<int64_t>> space =
      refineIndexSpace(spec, result, spec.resultTypes()[number].getNumElements());
  if (failed(space))
    return failure();
  return WalkPlan::get(*space, bodyWeight(spec), target);
}

bool codegen::canWalkPrologueResults(const KernelSpec &spec) {
  return llvm::all_of(resultsBehindAnchor(spec, false), [&](unsigned number) {
    return succeeded(prologueWalk(spec, CpuTarget(), number));
  });
}

/// See finishCandidate.
static std::optional<Preparation> finishPreparation(const KernelSpec &spec, const CpuTarget &target,
                                                    const Candidate &candidate) {
  Preparation preparation = *candidate.preparation;
  auto argument = dyn_cast<BlockArgument>(spec.anchorOp()->getOperand(preparation.operand));
  if (!argument || !argument.hasOneUse())
    return std::nullopt;
  preparation.operand = argument.getArgNumber();
  // The rest reads the workspace and not the operand.
  const double bytes = program::storageBytes(spec.operandTypes()[preparation.operand]);
  const double left = double(spec.bytes()) - bytes + double(candidate.workspaceBytes);
  preparation.seconds +=
      trafficSeconds(spec, candidate, target) - memorySeconds(std::max(0.0, left), target);
  return preparation;
}

void codegen::finishCandidate(const KernelSpec &spec, const CpuTarget &target,
                              Candidate &candidate) {
  if (spec.hasReductionsBehind())
    addBandReductions(spec, target, candidate);
  if (candidate.preparation)
    candidate.preparation = finishPreparation(spec, target, candidate);
  candidate.cost += trafficSeconds(spec, candidate, target);
  for (unsigned number : resultsBehindAnchor(spec, false)) {
    candidate.phases.push_back({prologueWalk(spec, target, number)->tasks(), 0});
    candidate.phases.back().sideBytes = 2 * program::storageBytes(spec.resultTypes()[number]);
  }
}

LogicalResult codegen::emitLastPhases(const KernelSpec &spec, const Candidate &candidate,
                                      const CpuTarget &target, StringRef symbol, ModuleOp module) {
  SmallVector<unsigned> numbers = resultsBehindAnchor(spec, false);
  unsigned phase = candidate.phases.size() - numbers.size();
  if (spec.hasReductionsBehind() &&
      failed(emitBandMerge(spec, candidate, target, symbol, module, phase - 1)))
    return failure();
  for (unsigned number : numbers) {
    KernelFunction kernel(spec, target, module, phaseSymbol(symbol, candidate, phase++),
                          candidate.workspaceBytes != 0);
    auto store = [&](ArrayRef<Point> points) { return storeAtPoints(kernel, number, points, {}); };
    if (failed(walkTask(kernel, *prologueWalk(spec, target, number), store)))
      return failure();
    kernel.finish();
  }
  return success();
}
