//===- CodeEmitter.cpp - see CodeEmitter.h ----------------------------------------------------===//
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

//===------------------------------------------------------------------------------------------===//
// Vectors
//===------------------------------------------------------------------------------------------===//

Value CodeEmitter::splat(Value scalar, int64_t width) {
  if (width == 1 || isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, loc, VectorType::get({width}, scalar.getType()), scalar);
}

Value CodeEmitter::extractLane(Value vector, int64_t lane) {
  return vector::ExtractOp::create(b, loc, vector, lane);
}

Value CodeEmitter::laneNumbers(int64_t width) {
  auto numbers = llvm::to_vector(llvm::seq<int32_t>(0, width));
  auto type = VectorType::get({width}, b.getI32Type());
  return arith::ConstantOp::create(b, loc,
                                   DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
}

Value CodeEmitter::firstLanes(Value count, int64_t width) {
  if (auto value = known(count)) {
    if (*value >= width)
      return {};
    SmallVector<bool> lanes(width, false);
    std::fill(lanes.begin(), lanes.begin() + std::max<int64_t>(*value, 0), true);
    auto type = VectorType::get({width}, b.getI1Type());
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef<bool>(lanes)));
  }
  Value few = minimum(count, constant(width));
  Value narrow = arith::TruncIOp::create(b, loc, b.getI32Type(), few);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneNumbers(width),
                               splat(narrow, width));
}

Value CodeEmitter::blend(Value mask, Value a, Value c) {
  return mask ? arith::SelectOp::create(b, loc, mask, a, c).getResult() : a;
}

Value CodeEmitter::reduceLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine) {
  int64_t width = cast<VectorType>(vector.getType()).getDimSize(0);
  while (width > 1) {
    width /= 2;
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, width));
    auto high = llvm::to_vector(llvm::seq<int64_t>(width, 2 * width));
    vector = combine(vector::ShuffleOp::create(b, loc, vector, vector, low),
                     vector::ShuffleOp::create(b, loc, vector, vector, high));
  }
  return extractLane(vector, 0);
}

//===------------------------------------------------------------------------------------------===//
// Memory
//===------------------------------------------------------------------------------------------===//

static unsigned bytesOf(Type element) {
  return isa<LLVM::LLVMPointerType>(element) ? 8 : program::elementBytes(element);
}

/// Small floats move as integers: LLVM converts masked vectors of them lane by lane, by library
/// calls.
static Type memoryType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isBF16() && !element.isF16())
    return type;
  Type integer = IntegerType::get(type.getContext(), element.getIntOrFloatBitWidth());
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(integer)) : integer;
}

Value CodeEmitter::at(Value base, Value offset, Type element) {
  if (known(offset) == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, pointerType(), element, base, ArrayRef<Value>{offset});
}

Value CodeEmitter::load(Value base, Value offset, Type element) {
  if (Type memory = memoryType(element); memory != element)
    return arith::BitcastOp::create(b, loc, element, load(base, offset, memory));
  return LLVM::LoadOp::create(b, loc, element, at(base, offset, element), bytesOf(element));
}

void CodeEmitter::store(Value value, Value base, Value offset) {
  if (Type memory = memoryType(value.getType()); memory != value.getType())
    value = arith::BitcastOp::create(b, loc, memory, value);
  Type element = getElementTypeOrSelf(value);
  LLVM::StoreOp::create(b, loc, value, at(base, offset, element), bytesOf(element));
}

Value CodeEmitter::elementPointers(Value pointer, Type element, int64_t width, int64_t step) {
  SmallVector<int64_t> offsets;
  for (int64_t lane = 0; lane < width; ++lane)
    offsets.push_back(lane * step);
  auto type = VectorType::get({width}, b.getI64Type());
  Value index = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef(offsets)));
  return LLVM::GEPOp::create(b, loc, VectorType::get({width}, pointerType()), element, pointer,
                             ArrayRef<Value>{index});
}

static Value loadMasked(CodeEmitter &e, Value pointer, VectorType type, Value mask) {
  unsigned alignment = bytesOf(type.getElementType());
  if (!mask)
    return LLVM::LoadOp::create(e.b, e.loc, type, pointer, alignment);
  return LLVM::MaskedLoadOp::create(e.b, e.loc, type, pointer, mask, e.number(0, type),
                                    e.b.getI32IntegerAttr(alignment), UnitAttr());
}

/// Every second element: two contiguous loads and a shuffle, several times faster than a gather.
/// The element behind the last lane may not exist, so it is masked off.
Value CodeEmitter::loadPairs(Value pointer, VectorType type, Value mask) {
  int64_t width = type.getDimSize(0);
  Value low, high;
  if (mask) {
    // Lane i of the mask stands for elements 2i (and 2i + 1, which lies before another lane's or is
    // left out).
    Value none = number(0, mask.getType());
    SmallVector<int64_t> first, second;
    for (int64_t i = 0; i < width; ++i) {
      first.push_back(i % 2 ? width : i / 2);
      second.push_back(i % 2 ? width : (width + i) / 2);
    }
    low = vector::ShuffleOp::create(b, loc, mask, none, first);
    high = vector::ShuffleOp::create(b, loc, mask, none, second);
  } else {
    high = firstLanes(width - 1, width);
  }
  Value a = loadMasked(*this, pointer, type, low);
  Value c = loadMasked(*this, at(pointer, constant(width), type.getElementType()), type, high);
  return everySecond(a, c, 0);
}

Value CodeEmitter::everySecond(Value low, Value high, int64_t first) {
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < cast<VectorType>(low.getType()).getDimSize(0); ++i)
    order.push_back(2 * i + first);
  return vector::ShuffleOp::create(b, loc, low, high, order);
}

Value CodeEmitter::loadVector(Value base, Value offset, Type element, int64_t width, int64_t step,
                              Value mask) {
  auto type = VectorType::get({width}, element);
  if (Type memory = memoryType(element); memory != element)
    return arith::BitcastOp::create(b, loc, type,
                                    loadVector(base, offset, memory, width, step, mask));
  Value pointer = at(base, offset, element);
  if (step == 1)
    return loadMasked(*this, pointer, type, mask);
  if (step == 2)
    return loadPairs(pointer, type, mask);
  if (step == 0)
    return splat(load(base, offset, element), width);
  Value lanes = mask ? mask : number(1, VectorType::get({width}, b.getI1Type()));
  return LLVM::masked_gather::create(b, loc, type, elementPointers(pointer, element, width, step),
                                     lanes, ValueRange{number(0, type)},
                                     b.getI32IntegerAttr(bytesOf(element)));
}

/// The only lane that a constant mask lets pass.
static std::optional<int64_t> onlyLane(Value mask) {
  DenseElementsAttr lanes;
  if (!mask || !matchPattern(mask, m_Constant(&lanes)) ||
      llvm::count(lanes.getValues<bool>(), true) != 1)
    return std::nullopt;
  return llvm::find(lanes.getValues<bool>(), true) - lanes.getValues<bool>().begin();
}

void CodeEmitter::storeVector(Value vector, Value base, Value offset, int64_t step, Value mask) {
  if (Type memory = memoryType(vector.getType()); memory != vector.getType())
    vector = arith::BitcastOp::create(b, loc, memory, vector);
  auto type = cast<VectorType>(vector.getType());
  Type element = type.getElementType();
  // LLVM 22 turns a narrowing masked store of one lane into a store of the wide element.
  if (auto lane = onlyLane(mask))
    return store(extractLane(vector, *lane), base, add(offset, *lane * step));
  Value pointer = at(base, offset, element);
  if (step == 1 && !mask) {
    LLVM::StoreOp::create(b, loc, vector, pointer, bytesOf(element));
  } else if (step == 1) {
    LLVM::MaskedStoreOp::create(b, loc, vector, pointer, mask, bytesOf(element));
  } else {
    int64_t width = type.getDimSize(0);
    Value lanes = mask ? mask : number(1, VectorType::get({width}, b.getI1Type()));
    LLVM::masked_scatter::create(b, loc, vector, elementPointers(pointer, element, width, step),
                                 lanes, b.getI32IntegerAttr(bytesOf(element)));
  }
}
