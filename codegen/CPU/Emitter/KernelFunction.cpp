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

Value KernelFunction::load(Value base, RankedTensorType type, const Point &point) {
  FailureOr<Place> place = placeOf(e, type, point);
  if (failed(place))
    return {};
  Type element = storedType(type.getElementType());
  if (point.width == 1)
    return e.load(base, place->offset, element);
  return e.loadVector(base, place->offset, element, point.width, place->step, point.mask);
}

void KernelFunction::store(Value value, Value base, RankedTensorType type, const Point &point) {
  FailureOr<Place> place = placeOf(e, type, point);
  if (succeeded(place) && point.width == 1)
    return e.store(value, base, place->offset);
  if (succeeded(place))
    return e.storeVector(value, base, place->offset, place->step, point.mask);
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
