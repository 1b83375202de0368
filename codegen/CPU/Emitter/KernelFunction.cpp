//===- KernelFunction.cpp - a kernel's function, its buffers and tensors ----------------------===//
#include "codegen/CPU/Emitter/CodeEmitter.h"
#include "codegen/Kernel/Address.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

LLVM::LLVMFuncOp codegen::createFunction(OpBuilder &b, Location loc, ModuleOp module,
                                         const CpuTarget &target, StringRef name,
                                         ArrayRef<Type> arguments, bool exported) {
  b.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), arguments);
  auto function = LLVM::LLVMFuncOp::create(
      b, loc, name, type, exported ? LLVM::Linkage::External : LLVM::Linkage::Internal);
  // Processors that clock down under 512-bit vectors make LLVM split them unless the function
  // insists.
  std::string width = std::to_string(target.vectorBytes * 8);
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

KernelFunction::KernelFunction(const KernelSpec &spec, const CpuTarget &target, ModuleOp module,
                               StringRef name, unsigned workspaces)
    : spec(spec), target(target), builder(module.getContext()), e(builder, module.getLoc()),
      lanes(target.vectorBytes / 4) {
  Type pointer = e.pointerType();
  auto function = createFunction(builder, e.loc, module, target, name,
                                 {pointer, builder.getI32Type(), pointer}, /*exported=*/true);
  task = arith::ExtUIOp::create(builder, e.loc, builder.getI64Type(), function.getArgument(1));
  scratch = function.getArgument(2);
  // struct dlc_args: two 32-bit numbers, then the pointer to the buffers' pointers.
  Value table = e.load(function.getArgument(0), e.constant(1), pointer);
  unsigned count = spec.operandTypes().size() + spec.resultTypes().size() + workspaces;
  for (unsigned i = 0; i < count; ++i)
    buffers.push_back(e.load(table, e.constant(i), pointer));
}

void KernelFunction::finish() { LLVM::ReturnOp::create(builder, e.loc, ValueRange()); }

BodyEmitter KernelFunction::body(BodyEmitter::AnchorValue anchor) {
  auto load = [this](unsigned number, const Point &point) {
    return this->load(operand(number), spec.operandTypes()[number], point);
  };
  return BodyEmitter(spec, builder, e.loc, load, std::move(anchor));
}

LogicalResult KernelFunction::storeResult(BodyEmitter &body, unsigned number, const Point &point) {
  Value value = body.emitStored(spec.result(number), point);
  if (!value)
    return emitError(e.loc, "the anchor's value is needed at another place than its own");
  store(value, result(number), spec.resultTypes()[number], point);
  return success();
}

/// The type of an element in memory: bool is a byte, unsigned integers are signless.
static Type storedType(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), std::max(integer.getWidth(), 8u));
  return element;
}

namespace {
/// Where a point's elements stand: an offset, and the distance between lanes.
struct Place {
  Value offset;
  int64_t step = 0;
};
} // namespace

/// The pieces that a layout divides axes into, in the order of the axes and of each the coarsest
/// first: as axes of an index space they number a tensor's elements in row-major order.
static SmallVector<program::PhysicalLayout::Dimension>
piecesOf(const program::PhysicalLayout &layout) {
  auto pieces = llvm::to_vector(layout.dimensions);
  llvm::stable_sort(pieces, [](const auto &a, const auto &b) {
    return std::pair(a.axis, -a.divisor) < std::pair(b.axis, -b.divisor);
  });
  return pieces;
}

std::optional<SmallVector<int64_t>> codegen::stridesIn(RankedTensorType type,
                                                       ArrayRef<int64_t> space) {
  const auto layout = program::PhysicalLayout::get(type);
  if (layout.elements != type.getNumElements())
    return std::nullopt;
  // Runs of elements that are equally far apart, from the innermost on.
  struct Run {
    int64_t extent, stride;
  };
  SmallVector<Run> runs;
  auto pieces = piecesOf(layout);
  for (const auto &piece : llvm::reverse(pieces))
    if (!runs.empty() && piece.stride == runs.back().extent * runs.back().stride)
      runs.back().extent *= piece.extent;
    else if (piece.extent != 1)
      runs.push_back({piece.extent, piece.stride});
  SmallVector<int64_t> strides(space.size());
  if (layout.elements == 0)
    return strides;
  runs.push_back({1, layout.elements}); // of axes of one element in front
  size_t run = 0;
  int64_t behind = 1; // elements of the run that the axes so far number
  for (size_t axis = space.size(); axis-- > 0;) {
    strides[axis] = runs[run].stride * behind;
    behind *= space[axis];
    if (runs[run].extent % behind != 0)
      return std::nullopt;
    if (behind == runs[run].extent && run + 1 < runs.size())
      ++run, behind = 1;
  }
  return strides;
}

static Place placeIn(CodeEmitter &e, ArrayRef<int64_t> strides, const Point &point) {
  Place place{e.constant(0), 0};
  for (size_t i = point.shape.size(); i-- > 0;)
    place.offset = e.add(e.mul(point.indices[i], strides[i]), place.offset);
  if (point.width > 1)
    place.step = point.step * strides[point.axis];
  return place;
}

/// Fails if the lanes are not equally far apart.
static FailureOr<Place> placeOf(CodeEmitter &e, RankedTensorType type, const Point &point) {
  if (auto strides = stridesIn(type, point.shape))
    return placeIn(e, *strides, point);
  const auto layout = program::PhysicalLayout::get(type);
  FailureOr<Point> own = reshapePoint(e.b, e.loc, point, type.getShape());
  if (failed(own))
    return failure();
  Place place{e.constant(0), 0};
  for (const program::PhysicalLayout::Dimension &d : layout.dimensions) {
    bool blocked = d.divisor != 1 || d.extent < type.getDimSize(d.axis);
    if (own->width > 1 && own->axis == d.axis) {
      if (blocked)
        return failure();
      place.step = own->step * d.stride;
    }
    Value index = physicalIndex(e, d, type.getDimSize(d.axis), own->indices[d.axis]);
    place.offset = e.add(place.offset, e.mul(index, d.stride));
  }
  return place;
}

namespace {
/// Numbers of `bits` bits, several in a byte, as bytes.
class PackedBytes {
public:
  PackedBytes(CodeEmitter &e, Value base, Type element)
      : e(e), base(base), bits(element.getIntOrFloatBitWidth()), byte(e.b.getI8Type()),
        perByte(program::elementsOfByte(element)) {}

  int64_t ofByte() const { return perByte; }
  /// Whether the lanes of a point are whole bytes: the vectors of a row are, and rows begin with
  /// one.
  bool areWhole(const Point &point, RankedTensorType type) const;
  Value load(Value offset);
  Value loadWhole(Value offset, int64_t width);
  void store(Value value, Value offset);
  void storeWhole(Value vector, Value offset);

private:
  /// As many bytes as there are lanes, each in the lowest bits of perByte bytes.
  VectorType wideType(int64_t width) {
    return VectorType::get({width / perByte}, e.b.getIntegerType(8 * perByte));
  }
  Value shiftOf(Value offset) {
    return arith::TruncIOp::create(e.b, e.loc, byte, e.mul(e.rem(offset, perByte), bits));
  }
  /// x, and x once more for each other element of a byte, each `distance` bits further.
  template <typename Shift> Value spread(Value x, int64_t distance);

  CodeEmitter &e;
  Value base;
  int64_t bits;
  Type byte;
  int64_t perByte;
};
} // namespace

bool PackedBytes::areWhole(const Point &point, RankedTensorType type) const {
  auto strides = stridesIn(type, point.shape);
  if (!strides || point.mask || point.width % perByte != 0 ||
      point.shape[point.axis] % point.width != 0)
    return false;
  for (auto [axis, stride] : llvm::enumerate(*strides))
    if (int64_t(axis) == point.axis ? point.step * stride != 1 : stride % perByte != 0)
      return false;
  return true;
}

template <typename Shift> Value PackedBytes::spread(Value x, int64_t distance) {
  Value all = x;
  for (int64_t i = 1; i < perByte; ++i)
    all = arith::OrIOp::create(e.b, e.loc, all,
                               Shift::create(e.b, e.loc, x, e.number(i * distance, x.getType())));
  return all;
}

Value PackedBytes::load(Value offset) {
  Value packed = e.load(base, e.div(offset, perByte), byte);
  Value shifted = arith::ShRUIOp::create(e.b, e.loc, packed, shiftOf(offset));
  return arith::AndIOp::create(e.b, e.loc, shifted, e.number((1 << bits) - 1, byte));
}

Value PackedBytes::loadWhole(Value offset, int64_t width) {
  VectorType wide = wideType(width);
  Value packed = e.loadVector(base, e.div(offset, perByte), byte, width / perByte);
  Value bytes = spread<arith::ShLIOp>(arith::ExtUIOp::create(e.b, e.loc, wide, packed), 8 - bits);
  auto type = VectorType::get({width}, byte);
  return arith::AndIOp::create(e.b, e.loc, LLVM::BitcastOp::create(e.b, e.loc, type, bytes),
                               e.number((1 << bits) - 1, type));
}

/// Its neighbours in the byte may be another task's.
void PackedBytes::store(Value value, Value offset) {
  Value place = e.at(base, e.div(offset, perByte), byte), shift = shiftOf(offset);
  auto shifted = [&](Value x) -> Value { return arith::ShLIOp::create(e.b, e.loc, x, shift); };
  auto change = [&](LLVM::AtomicBinOp how, Value x) {
    LLVM::AtomicRMWOp::create(e.b, e.loc, how, place, x, LLVM::AtomicOrdering::monotonic);
  };
  Value others = arith::XOrIOp::create(e.b, e.loc, shifted(e.number((1 << bits) - 1, byte)),
                                       e.number(-1, byte));
  change(LLVM::AtomicBinOp::_and, others);
  change(LLVM::AtomicBinOp::_or, shifted(value));
}

void PackedBytes::storeWhole(Value vector, Value offset) {
  VectorType wide = wideType(cast<VectorType>(vector.getType()).getDimSize(0));
  Value bytes = LLVM::BitcastOp::create(e.b, e.loc, wide, vector);
  Value packed = spread<arith::ShRUIOp>(bytes, 8 - bits);
  e.storeVector(arith::TruncIOp::create(e.b, e.loc, wide.clone(byte), packed), base,
                e.div(offset, perByte));
}

Value KernelFunction::load(Value base, RankedTensorType type, const Point &point) {
  FailureOr<Place> place = placeOf(e, type, point);
  if (failed(place))
    return {};
  if (PackedBytes packed(e, base, type.getElementType()); packed.ofByte() > 1) {
    if (point.width == 1)
      return packed.load(place->offset);
    return packed.areWhole(point, type) ? packed.loadWhole(place->offset, point.width) : Value();
  }
  Type element = storedType(type.getElementType());
  if (point.width == 1)
    return e.load(base, place->offset, element);
  return e.loadVector(base, place->offset, element, point.width, place->step, point.mask);
}

void KernelFunction::store(Value value, Value base, RankedTensorType type, Value offset) {
  if (PackedBytes packed(e, base, type.getElementType()); packed.ofByte() > 1)
    packed.store(value, offset);
  else
    e.store(value, base, offset);
}

void KernelFunction::store(Value value, Value base, RankedTensorType type, const Point &point) {
  FailureOr<Place> place = placeOf(e, type, point);
  if (succeeded(place) && point.width == 1)
    return store(value, base, type, place->offset);
  PackedBytes packed(e, base, type.getElementType());
  if (succeeded(place) && packed.ofByte() == 1)
    return e.storeVector(value, base, place->offset, place->step, point.mask);
  if (succeeded(place) && packed.areWhole(point, type))
    return packed.storeWhole(value, place->offset);
  for (int64_t lane = 0; lane < point.width; ++lane) {
    Value exists = point.mask ? vector::ExtractOp::create(builder, e.loc, point.mask, lane)
                              : e.number(1, builder.getI1Type());
    e.when(exists, [&] {
      Value element = vector::ExtractOp::create(builder, e.loc, value, lane);
      store(element, base, type, lanePoint(builder, e.loc, point, lane));
    });
  }
}

static bool isBehindReductions(const KernelSpec &spec, unsigned number) {
  return spec.hasReductionsBehind() && spec.passOf(spec.result(number)) > 1;
}

SmallVector<unsigned> codegen::resultsBehindAnchor(const KernelSpec &spec, bool behind) {
  SmallVector<unsigned> numbers;
  for (unsigned i = 0; i < spec.resultTypes().size(); ++i)
    if (spec.dependsOnAnchor(spec.result(i)) == behind && !isBehindReductions(spec, i))
      numbers.push_back(i);
  return numbers;
}

SmallVector<unsigned> codegen::resultsBehindReductions(const KernelSpec &spec) {
  SmallVector<unsigned> numbers;
  for (unsigned i = 0; i < spec.resultTypes().size(); ++i)
    if (isBehindReductions(spec, i))
      numbers.push_back(i);
  return numbers;
}
