// See PackEmitter.h.
#include "codegen/CPU/PackEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc::codegen;

//===-------------------------------------------------------------------------------------------- integers

Value PackEmitter::constant(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 64);
}
Value PackEmitter::add(Value a, Value c) { return b.createOrFold<arith::AddIOp>(loc, a, c); }
Value PackEmitter::sub(Value a, Value c) { return b.createOrFold<arith::SubIOp>(loc, a, c); }
Value PackEmitter::mul(Value a, Value c) { return b.createOrFold<arith::MulIOp>(loc, a, c); }
Value PackEmitter::mul(Value a, int64_t c) { return mul(a, constant(c)); }
Value PackEmitter::div(Value a, int64_t c) {
  return b.createOrFold<arith::DivUIOp>(loc, a, constant(c));
}
Value PackEmitter::rem(Value a, int64_t c) {
  return b.createOrFold<arith::RemUIOp>(loc, a, constant(c));
}
Value PackEmitter::minimum(Value a, Value c) { return b.createOrFold<arith::MinSIOp>(loc, a, c); }
Value PackEmitter::maximum(Value a, Value c) { return b.createOrFold<arith::MaxSIOp>(loc, a, c); }
Value PackEmitter::less(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, c);
}
Value PackEmitter::equal(Value a, Value c) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, a, c);
}
Value PackEmitter::both(Value a, Value c) { return b.createOrFold<arith::AndIOp>(loc, a, c); }

//===-------------------------------------------------------------------------------------------- control

static std::optional<int64_t> staticValue(Value value) { return getConstantIntValue(value); }

void PackEmitter::loop(Value lower, Value upper, int64_t step,
                       llvm::function_ref<void(Value)> body) {
  auto from = staticValue(lower), to = staticValue(upper);
  if (from && to && *to <= *from)
    return;
  if (from && to && *to <= *from + step)
    return body(lower);
  auto forOp = scf::ForOp::create(b, loc, lower, upper, constant(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
}

Value PackEmitter::sum(Value first, int64_t count, llvm::function_ref<Value(Value)> term) {
  if (count <= 1)
    return first;
  auto forOp = scf::ForOp::create(b, loc, constant(1), constant(count), constant(1), first);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value next = arith::AddFOp::create(b, loc, forOp.getRegionIterArg(0), term(forOp.getInductionVar()));
  scf::YieldOp::create(b, loc, next);
  return forOp.getResult(0);
}

void PackEmitter::when(Value condition, llvm::function_ref<void()> body) {
  if (auto known = staticValue(condition)) {
    if (*known)
      body();
    return;
  }
  auto ifOp = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

//===-------------------------------------------------------------------------------------------- memory

Value PackEmitter::at(Value base, Value offset) {
  if (staticValue(offset) == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, pointerType(), floatType(), base, ArrayRef<Value>{offset});
}
Value PackEmitter::loadScalar(Value pointer) {
  return LLVM::LoadOp::create(b, loc, floatType(), pointer, 4);
}
Value PackEmitter::loadInteger(Value pointer, Value index) {
  Value place = LLVM::GEPOp::create(b, loc, pointerType(), b.getI32Type(), pointer,
                                    ArrayRef<Value>{index});
  Value narrow = LLVM::LoadOp::create(b, loc, b.getI32Type(), place, 4);
  return arith::ExtSIOp::create(b, loc, b.getI64Type(), narrow);
}
Value PackEmitter::load(Value pointer, bool aligned) {
  return LLVM::LoadOp::create(b, loc, vectorType(), pointer, aligned ? lanes * 4 : 4);
}
void PackEmitter::store(Value vector, Value pointer, bool aligned) {
  LLVM::StoreOp::create(b, loc, vector, pointer, aligned ? lanes * 4 : 4);
}
void PackEmitter::maskedStore(Value vector, Value pointer, Value mask) {
  if (!mask)
    return store(vector, pointer);
  LLVM::MaskedStoreOp::create(b, loc, vector, pointer, mask, 4);
}
void PackEmitter::prefetch(Value pointer, bool forWriting) {
  LLVM::Prefetch::create(b, loc, pointer, forWriting, /*hint=*/3, /*cache=*/1);
}
Value PackEmitter::zeroVector() {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorType(), 0.0f));
}
Value PackEmitter::splat(Value scalar) {
  return vector::BroadcastOp::create(b, loc, vectorType(), scalar);
}

/// Compares each lane's number with a bound.
static Value compareLanes(PackEmitter &e, arith::CmpIPredicate predicate, Value bound) {
  auto type = VectorType::get({e.lanes}, e.b.getI32Type());
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(int32_t(e.lanes)));
  Value constant =
      arith::ConstantOp::create(e.b, e.loc, DenseElementsAttr::get(type, ArrayRef(numbers)));
  Value narrow = e.b.createOrFold<arith::TruncIOp>(e.loc, e.b.getI32Type(), bound);
  Value splat = vector::BroadcastOp::create(e.b, e.loc, type, narrow);
  return arith::CmpIOp::create(e.b, e.loc, predicate, constant, splat);
}

Value PackEmitter::lanesBelow(Value bound) {
  auto known = staticValue(bound);
  if (known && *known >= lanes)
    return {};
  return compareLanes(*this, arith::CmpIPredicate::slt, bound);
}
Value PackEmitter::lanesFrom(Value bound) {
  auto known = staticValue(bound);
  if (known && *known <= 0)
    return {};
  return compareLanes(*this, arith::CmpIPredicate::sge, bound);
}
Value PackEmitter::intersect(Value a, Value c) {
  return a && c ? arith::AndIOp::create(b, loc, a, c).getResult() : a ? a : c;
}

//===-------------------------------------------------------------------------------------------- tensors

void PackEmitter::bindArguments(Value args, unsigned count) {
  const int64_t buffersField = 2; // pointers into dlc_args: size and count fill the first eight bytes
  auto pointerAt = [&](Value base, int64_t index) -> Value {
    Value place = LLVM::GEPOp::create(b, loc, pointerType(), pointerType(), base,
                                      ArrayRef<LLVM::GEPArg>{int32_t(index)});
    return LLVM::LoadOp::create(b, loc, pointerType(), place, 8);
  };
  Value table = pointerAt(args, buffersField / 2);
  buffers.clear();
  for (unsigned i = 0; i < count; ++i)
    buffers.push_back(pointerAt(table, i));
}

Value PackEmitter::buffer(unsigned argument) { return buffers[argument]; }

Value PackEmitter::address(const StridedTensor &tensor, ValueRange indices) {
  Value offset = constant(0);
  for (auto [index, stride] : llvm::zip_equal(indices, tensor.strides))
    if (stride != 0)
      offset = add(offset, mul(index, stride));
  return at(buffer(tensor.argument), offset);
}

Value PackEmitter::elementPointers(Value base, int64_t stride) {
  SmallVector<int64_t> offsets(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    offsets[i] = i * stride;
  auto type = VectorType::get({lanes}, b.getI64Type());
  Value index = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef(offsets)));
  return LLVM::GEPOp::create(b, loc, VectorType::get({lanes}, pointerType()), floatType(), base,
                             ArrayRef<Value>{index});
}

static Value allLanes(PackEmitter &e) {
  auto type = VectorType::get({e.lanes}, e.b.getI1Type());
  return arith::ConstantOp::create(e.b, e.loc, DenseElementsAttr::get(type, true));
}

Value PackEmitter::read(const StridedTensor &tensor, const Place &place) {
  Value base = address(tensor, place.indices);
  int64_t stride = tensor.strides[place.axis] * place.step;
  if (stride == 1 && !place.mask)
    return load(base);
  if (stride == 0 && !place.mask)
    return splat(loadScalar(base));
  if (stride == 1)
    return LLVM::MaskedLoadOp::create(b, loc, vectorType(), base, place.mask, zeroVector(),
                                      b.getI32IntegerAttr(4), UnitAttr());
  return LLVM::masked_gather::create(b, loc, vectorType(), elementPointers(base, stride),
                                     place.mask ? place.mask : allLanes(*this),
                                     ValueRange{zeroVector()}, b.getI32IntegerAttr(4));
}

void PackEmitter::write(Value vector, const StridedTensor &tensor, const Place &place) {
  Value base = address(tensor, place.indices);
  int64_t stride = tensor.strides[place.axis] * place.step;
  if (stride == 1)
    return maskedStore(vector, base, place.mask);
  LLVM::masked_scatter::create(b, loc, vector, elementPointers(base, stride),
                               place.mask ? place.mask : allLanes(*this), b.getI32IntegerAttr(4));
}

Source Source::of(const StridedTensor &tensor) {
  return {[tensor](PackEmitter &e, const Place &place) { return e.read(tensor, place); }, tensor};
}

Sink Sink::of(const StridedTensor &tensor) {
  return {[tensor](PackEmitter &e, Value value, const Place &place) {
    e.write(value, tensor, place);
  }};
}

//===-------------------------------------------------------------------------------------------- functions

LLVM::LLVMFuncOp dlc::codegen::createFunction(OpBuilder &b, ModuleOp module, Location loc,
                                              StringRef name, ArrayRef<Type> arguments,
                                              int64_t lanes, bool exported) {
  b.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), arguments);
  auto function = LLVM::LLVMFuncOp::create(
      b, loc, name, type, exported ? LLVM::Linkage::External : LLVM::Linkage::Internal);
  // Processors that clock down under 512-bit vectors make LLVM split them unless the function insists.
  std::string width = std::to_string(lanes * 32);
  SmallVector<Attribute> attributes;
  for (StringRef key : {"min-legal-vector-width", "prefer-vector-width"})
    attributes.push_back(b.getStrArrayAttr({key, width}));
  attributes.push_back(b.getStringAttr("nounwind"));
  if (!exported)
    attributes.push_back(b.getStringAttr("noinline"));
  function.setPassthroughAttr(b.getArrayAttr(attributes));
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

KernelArguments dlc::codegen::beginKernel(PackEmitter &e, ModuleOp module, StringRef symbol,
                                          unsigned buffers) {
  Type p = e.pointerType();
  auto function = createFunction(e.b, module, e.loc, symbol, {p, e.b.getI32Type(), p}, e.lanes,
                                 /*exported=*/true);
  e.bindArguments(function.getArgument(0), buffers);
  Value task =
      arith::ExtUIOp::create(e.b, e.loc, e.b.getI64Type(), function.getArgument(1));
  return {task, function.getArgument(2)};
}

/// One level of a transposition inside 128-bit blocks: interleaves groups of `group` lanes of two rows.
static Value interleave(PackEmitter &e, Value low, Value high, int64_t group, bool upper) {
  SmallVector<int64_t> lanes;
  for (int64_t block = 0; block < e.lanes; block += 4)
    for (int64_t i = 0; i < 4; i += 2 * group)
      for (int64_t side = 0; side < 2; ++side)
        for (int64_t lane = 0; lane < group; ++lane)
          lanes.push_back(side * e.lanes + block + i / 2 + (upper ? 2 : 0) + lane);
  return vector::ShuffleOp::create(e.b, e.loc, low, high, lanes);
}

/// Takes the even or odd 128-bit blocks of two rows.
static Value pickBlocks(PackEmitter &e, Value low, Value high, bool odd) {
  SmallVector<int64_t> lanes;
  for (int64_t side = 0; side < 2; ++side)
    for (int64_t block = odd ? 4 : 0; block < e.lanes; block += 8)
      for (int64_t lane = 0; lane < 4; ++lane)
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

LLVM::LLVMFuncOp PackEmitter::transposeFunction() {
  auto module = b.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  const char *name = "transpose_tile";
  if (auto found = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return found;
  OpBuilder::InsertionGuard guard(b);
  Type p = pointerType(), i = b.getI64Type();
  auto function = createFunction(b, module, loc, name, {p, i, p, i}, lanes, false);
  SmallVector<Value> rows, quads(lanes);
  for (int64_t r = 0; r < lanes; ++r)
    rows.push_back(load(at(function.getArgument(0), mul(function.getArgument(1), r))));
  // Groups of four rows: quads[4 * g + j] holds column 4 * block + j of rows 4g .. 4g + 3 in each of its blocks.
  for (int64_t g = 0; g < lanes; g += 4) {
    Value t[4] = {interleave(*this, rows[g], rows[g + 1], 1, false),
                  interleave(*this, rows[g], rows[g + 1], 1, true),
                  interleave(*this, rows[g + 2], rows[g + 3], 1, false),
                  interleave(*this, rows[g + 2], rows[g + 3], 1, true)};
    for (int64_t j = 0; j < 4; ++j)
      quads[g + j] = interleave(*this, t[j / 2], t[j / 2 + 2], 2, j % 2);
  }
  for (int64_t j = 0; j < 4; ++j) {
    SmallVector<Value> blocks;
    for (int64_t g = 0; g < lanes; g += 4)
      blocks.push_back(quads[g + j]);
    for (auto [block, row] : llvm::enumerate(transposeBlocks(*this, blocks)))
      store(row, at(function.getArgument(2), mul(function.getArgument(3), int64_t(4 * block + j))));
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
  return function;
}

void PackEmitter::transpose(Value source, Value sourceStride, Value target, Value targetStride) {
  LLVM::CallOp::create(b, loc, transposeFunction(),
                       ValueRange{source, sourceStride, target, targetStride});
}

void PackEmitter::clearRows(Value tile, Value first) {
  loop(first, constant(lanes), 1,
       [&](Value row) { store(zeroVector(), at(tile, mul(row, lanes)), /*aligned=*/true); });
}
