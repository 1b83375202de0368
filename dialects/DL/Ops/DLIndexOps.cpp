//===- DLIndexOps.cpp - inference, index maps and folds of ops that move elements -------------===//
#include "dialects/DL/Ops/DLIndexOps.h"
#include "dialects/DL/Builders/Folding.h"
#include "dialects/DL/Ops/Shapes.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace dlc::dl;

LogicalResult dlc::dl::checkAxis(std::optional<Location> location, StringRef op, int64_t axis,
                                 int64_t rank) {
  if (axis < 0 || axis >= rank)
    return emitOptionalError(location, op, ": (C1) has axis ", axis, ", but rank ", rank);
  return success();
}

/// The splat `constant` under another type of the same element type; null if it is none.
static Attribute resizeSplat(Attribute constant, Type type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(constant);
  return splat ? splat.resizeSplat(cast<ShapedType>(type)) : Attribute();
}

//===------------------------------------------------------------------------------------------===//
// broadcast, reshape, transpose
//===------------------------------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType x = tensorType(getX()), y = tensorType(getY());
  if (int64_t(getDims().size()) != x.getRank() || !areAxes(getDims(), y.getRank()))
    return emitOpError("(C1) expects ") << x.getRank() << " rising dims below " << y.getRank()
                                        << ", found [" << getDims() << "]";
  for (auto [axis, dim] : llvm::enumerate(getDims()))
    if (x.getDimSize(axis) != 1 && x.getDimSize(axis) != y.getDimSize(dim))
      return emitOpError("(C2) axis ")
             << axis << " has size " << x.getDimSize(axis) << ", expected 1 or "
             << y.getDimSize(dim) << ", the size of the result's axis " << dim;
  if (x.getElementType() != y.getElementType())
    return emitOpError("(C3) expects equal element types, found ") << x << " and " << y;
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  return resizeSplat(adaptor.getX(), getType());
}

SmallVector<IndexMap> BroadcastOp::getIndexMaps() {
  RankedTensorType x = tensorType(getX()), y = tensorType(getY());
  SmallVector<IndexMap::Axis> operand;
  for (auto [axis, dim] : llvm::enumerate(getDims()))
    if (x.getDimSize(axis) == y.getDimSize(dim))
      operand.push_back({x.getDimSize(axis), dim});
  return {IndexMap::get(y.getShape(), operand)};
}

FailureOr<NamedAttrList> BroadcastOp::permuteAxes(ArrayRef<int64_t> operandOrder,
                                                  ArrayRef<int64_t> resultOrder) {
  SmallVector<int64_t> dims;
  for (int64_t axis : operandOrder)
    dims.push_back(getDims()[axis]);
  dims = placesOf(dims, resultOrder);
  if (!llvm::is_sorted(dims))
    return failure();
  Builder builder(getContext());
  return NamedAttrList(builder.getNamedAttr(getDimsAttrName(), builder.getDenseI64ArrayAttr(dims)));
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType x = tensorType(getX()), y = tensorType(getY());
  if (x.getNumElements() != y.getNumElements() || x.getElementType() != y.getElementType())
    return emitOpError("(C1) expects equal element counts and types, found ") << x << " and " << y;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    getXMutable().assign(inner.getX());
    return getResult();
  }
  return resizeSplat(adaptor.getX(), getType());
}

SmallVector<IndexMap> ReshapeOp::getIndexMaps() {
  int64_t elements = tensorType(getX()).getNumElements();
  return {IndexMap::get({elements}, {{elements, 0}})};
}

/// The order of the elements would be another.
FailureOr<NamedAttrList> ReshapeOp::permuteAxes(ArrayRef<int64_t>, ArrayRef<int64_t>) {
  return failure();
}

bool ReshapeOp::isView() { return true; }

std::optional<int64_t> ReshapeOp::getPieceBegin() { return 0; }

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType x = tensorType(operands[0]);
  ArrayRef<int64_t> order = adaptor.getOrder();
  llvm::SmallBitVector seen(x.getRank());
  SmallVector<int64_t> shape;
  for (int64_t axis : order)
    if (axis >= 0 && axis < x.getRank()) {
      seen.set(axis);
      shape.push_back(x.getDimSize(axis));
    }
  if (int64_t(order.size()) != x.getRank() || !seen.all())
    return emitOptionalError(location, getOperationName(), ": (C1) order [", order,
                             "] is not a permutation of ", x.getRank(), " axes");
  results.push_back(RankedTensorType::get(shape, x.getElementType()));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> order = getOrder();
  if (getX().getType() == getType() && llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> composed;
    for (int64_t axis : order)
      composed.push_back(inner.getOrder()[axis]);
    getXMutable().assign(inner.getX());
    setOrder(composed);
    return getResult();
  }
  return resizeSplat(adaptor.getX(), getType());
}

SmallVector<IndexMap> TransposeOp::getIndexMaps() {
  RankedTensorType x = tensorType(getX());
  SmallVector<IndexMap::Axis> operand(x.getRank());
  for (auto [i, axis] : llvm::enumerate(getOrder()))
    operand[axis] = {x.getDimSize(axis), int64_t(i)};
  return {IndexMap::get(tensorType(getY()).getShape(), operand)};
}

FailureOr<NamedAttrList> TransposeOp::permuteAxes(ArrayRef<int64_t> operandOrder,
                                                  ArrayRef<int64_t> resultOrder) {
  SmallVector<int64_t> axes;
  for (int64_t axis : resultOrder)
    axes.push_back(getOrder()[axis]);
  Builder builder(getContext());
  return NamedAttrList(builder.getNamedAttr(
      getOrderAttrName(), builder.getDenseI64ArrayAttr(placesOf(axes, operandOrder))));
}

//===------------------------------------------------------------------------------------------===//
// slice, pad
//===------------------------------------------------------------------------------------------===//

/// Whether `count` elements, `step` apart from `start` on, lie within `extent`.
static bool liesWithin(int64_t start, int64_t count, int64_t step, int64_t extent) {
  if (start < 0 || start > extent || count < 0 || step < 1)
    return false;
  return count == 0 || (start < extent && count - 1 <= (extent - 1 - start) / step);
}

/// `numbers` of axes in another order.
static SmallVector<int64_t> inOrder(ArrayRef<int64_t> numbers, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t axis) { return numbers[axis]; });
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                        ValueRange operands, DictionaryAttr attributes,
                                        OpaqueProperties properties, RegionRange regions,
                                        SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType x = tensorType(operands[0]);
  size_t rank = x.getRank();
  ArrayRef<int64_t> starts = adaptor.getStarts(), sizes = adaptor.getSizes(),
                    steps = adaptor.getSteps();
  if (starts.size() != rank || sizes.size() != rank || steps.size() != rank)
    return emitOptionalError(location, getOperationName(), ": (C1) expects ", rank,
                             " starts, sizes and steps, found ", starts.size(), ", ", sizes.size(),
                             " and ", steps.size());
  for (size_t axis = 0; axis < rank; ++axis)
    if (!liesWithin(starts[axis], sizes[axis], steps[axis], x.getDimSize(axis)))
      return emitOptionalError(location, getOperationName(), ": (C2) axis ", axis, " of size ",
                               x.getDimSize(axis), " has no ", sizes[axis], " elements from ",
                               starts[axis], " in steps of ", steps[axis]);
  results.push_back(RankedTensorType::get(sizes, x.getElementType(), x.getEncoding()));
  return success();
}

/// What is cut out of padding is 0, and what is cut out of the padded tensor is read there.
static OpFoldResult foldSliceOfPad(SliceOp slice, PadOp pad) {
  ArrayRef<int64_t> extents = tensorType(pad.getX()).getShape();
  SmallVector<int64_t> starts;
  bool isWithin = true, isBeside = false;
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    int64_t first = slice.getStarts()[axis] - pad.getLow()[axis];
    int64_t last = first + (slice.getSizes()[axis] - 1) * slice.getSteps()[axis];
    bool isDense = extent < 2 || pad.getSteps()[axis] == 1;
    isWithin &= isDense && first >= 0 && last < extent;
    isBeside |= last < 0 || first >= extent + (extent - 1) * (pad.getSteps()[axis] - 1);
    starts.push_back(first);
  }
  if (isBeside)
    return Builder(slice.getContext()).getZeroAttr(slice.getType());
  if (!isWithin)
    return {};
  slice.getXMutable().assign(pad.getX());
  slice.setStarts(starts);
  return slice.getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto pad = getX().getDefiningOp<PadOp>())
    if (OpFoldResult folded = foldSliceOfPad(*this, pad))
      return folded;
  return resizeSplat(adaptor.getX(), getType());
}

/// Behind axes of one element there may be one that is cut; those behind it are whole.
std::optional<int64_t> SliceOp::getPieceBegin() {
  RankedTensorType x = tensorType(getX());
  int64_t begin = 0;
  bool isWithin = false; ///< an axis of several elements stands before
  for (auto [extent, start, size, step] :
       llvm::zip_equal(x.getShape(), getStarts(), getSizes(), getSteps())) {
    if ((isWithin && size != extent) || (size > 1 && step != 1))
      return std::nullopt;
    isWithin |= size > 1;
    begin = begin * extent + start;
  }
  return begin;
}

SmallVector<IndexMap> SliceOp::getIndexMaps() {
  RankedTensorType x = tensorType(getX());
  SmallVector<IndexMap::Axis> operand;
  for (int64_t axis = 0; axis < x.getRank(); ++axis)
    operand.push_back({x.getDimSize(axis), axis, getSteps()[axis], getStarts()[axis]});
  return {IndexMap::get(getSizes(), operand)};
}

FailureOr<NamedAttrList> SliceOp::permuteAxes(ArrayRef<int64_t> order, ArrayRef<int64_t>) {
  Builder builder(getContext());
  NamedAttrList attributes;
  attributes.set(getStartsAttrName(), builder.getDenseI64ArrayAttr(inOrder(getStarts(), order)));
  attributes.set(getSizesAttrName(), builder.getDenseI64ArrayAttr(inOrder(getSizes(), order)));
  attributes.set(getStepsAttrName(), builder.getDenseI64ArrayAttr(inOrder(getSteps(), order)));
  return attributes;
}

LogicalResult PadOp::verify() {
  RankedTensorType x = tensorType(getX()), y = tensorType(getY());
  if (x.getRank() != y.getRank() || x.getElementType() != y.getElementType())
    return emitOpError("(C1) expects equal ranks and element types, found ") << x << " and " << y;
  if (int64_t(getLow().size()) != x.getRank() || int64_t(getSteps().size()) != x.getRank())
    return emitOpError("(C1) expects ") << x.getRank() << " numbers in low and steps, found "
                                        << getLow().size() << " and " << getSteps().size();
  for (int64_t axis = 0; axis < x.getRank(); ++axis)
    if (!liesWithin(getLow()[axis], x.getDimSize(axis), getSteps()[axis], y.getDimSize(axis)))
      return emitOpError("(C2) axis ")
             << axis << " of the result, of size " << y.getDimSize(axis) << ", does not hold "
             << x.getDimSize(axis) << " elements from " << getLow()[axis] << " in steps of "
             << getSteps()[axis];
  return success();
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  return isSplatOf(adaptor.getX(), 0) ? resizeSplat(adaptor.getX(), getType()) : Attribute();
}

SmallVector<IndexMap> PadOp::getIndexMaps() {
  RankedTensorType x = tensorType(getX());
  SmallVector<IndexMap::Axis> operand;
  for (int64_t axis = 0; axis < x.getRank(); ++axis) {
    int64_t extent = x.getDimSize(axis), step = extent > 1 ? getSteps()[axis] : 1;
    operand.push_back({extent, axis, 1, -getLow()[axis], step});
  }
  return {IndexMap::get(tensorType(getY()).getShape(), operand)};
}

FailureOr<NamedAttrList> PadOp::permuteAxes(ArrayRef<int64_t> order, ArrayRef<int64_t>) {
  Builder builder(getContext());
  NamedAttrList attributes;
  attributes.set(getLowAttrName(), builder.getDenseI64ArrayAttr(inOrder(getLow(), order)));
  attributes.set(getStepsAttrName(), builder.getDenseI64ArrayAttr(inOrder(getSteps(), order)));
  return attributes;
}

//===------------------------------------------------------------------------------------------===//
// concat
//===------------------------------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(location, getOperationName(), ": (C1) has nothing to join");
  RankedTensorType first = tensorType(operands.front());
  int64_t axis = adaptor.getAxisAttr().getInt();
  if (failed(checkAxis(location, getOperationName(), axis, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  for (Value operand : operands.drop_front()) {
    RankedTensorType type = tensorType(operand);
    bool fits =
        type.getRank() == first.getRank() && type.getElementType() == first.getElementType();
    for (int64_t i = 0; fits && i < type.getRank(); ++i)
      fits = i == axis || type.getDimSize(i) == first.getDimSize(i);
    if (!fits)
      return emitOptionalError(location, getOperationName(),
                               ": (C2) expects tensors that differ along axis ", axis,
                               " only, found ", first, " and ", type);
    shape[axis] += type.getDimSize(axis);
  }
  results.push_back(RankedTensorType::get(shape, first.getElementType(), first.getEncoding()));
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getXs().size() == 1 ? OpFoldResult(getXs().front()) : OpFoldResult();
}

/// Along the leading axis of those with several elements.
SmallVector<int64_t> ConcatOp::getPartBegins() {
  if (llvm::product_of(tensorType(getY()).getShape().take_front(getAxis())) != 1)
    return {};
  SmallVector<int64_t> begins;
  int64_t begin = 0;
  for (Value each : getXs()) {
    begins.push_back(begin);
    begin += tensorType(each).getNumElements();
  }
  return begins;
}

SmallVector<IndexMap> ConcatOp::getIndexMaps() {
  SmallVector<IndexMap> maps;
  int64_t offset = 0, joined = getAxis();
  for (Value each : getXs()) {
    RankedTensorType x = tensorType(each);
    SmallVector<IndexMap::Axis> operand;
    for (int64_t axis = 0; axis < x.getRank(); ++axis)
      operand.push_back({x.getDimSize(axis), axis, 1, axis == joined ? -offset : 0});
    maps.push_back(IndexMap::get(tensorType(getY()).getShape(), operand));
    offset += x.getDimSize(joined);
  }
  return maps;
}

FailureOr<NamedAttrList> ConcatOp::permuteAxes(ArrayRef<int64_t>, ArrayRef<int64_t> resultOrder) {
  Builder builder(getContext());
  int64_t place = placesOf({int64_t(getAxis())}, resultOrder)[0];
  return NamedAttrList(builder.getNamedAttr(getAxisAttrName(), builder.getI64IntegerAttr(place)));
}

//===------------------------------------------------------------------------------------------===//
// gather, scatter_add
//===------------------------------------------------------------------------------------------===//

SmallVector<int64_t> dlc::dl::lookedUpShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> index,
                                            int64_t axis) {
  SmallVector<int64_t> result(shape.take_front(axis));
  llvm::append_range(result, index);
  llvm::append_range(result, shape.drop_front(axis + 1));
  return result;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType x = tensorType(operands[0]);
  int64_t axis = adaptor.getAxisAttr().getInt();
  if (failed(checkAxis(location, getOperationName(), axis, x.getRank())))
    return failure();
  results.push_back(RankedTensorType::get(
      lookedUpShape(x.getShape(), tensorType(operands[1]).getShape(), axis), x.getElementType()));
  return success();
}

SmallVector<IndexMap> GatherOp::getIndexMaps() {
  ArrayRef<int64_t> x = tensorType(getX()).getShape();
  int64_t outer = llvm::product_of(x.take_front(getAxis())), extent = x[getAxis()],
          inner = llvm::product_of(x.drop_front(getAxis() + 1));
  int64_t count = tensorType(getIndex()).getNumElements();
  IndexMap::Axis lookedUp{extent, 1};
  lookedUp.lookup = 1;
  return {IndexMap::get({outer, count, inner}, {{outer, 0}, lookedUp, {inner, 2}})};
}

/// The order of the index's elements would be another.
FailureOr<NamedAttrList> GatherOp::permuteAxes(ArrayRef<int64_t>, ArrayRef<int64_t>) {
  return failure();
}

LogicalResult ScatterAddOp::verify() {
  RankedTensorType values = tensorType(getValues()), y = tensorType(getY());
  int64_t axis = getAxis();
  if (failed(checkAxis(getLoc(), getOperationName(), axis, y.getRank())))
    return failure();
  SmallVector<int64_t> shape = lookedUpShape(y.getShape(), tensorType(getIndex()).getShape(), axis);
  if (values.getShape() != ArrayRef(shape) || values.getElementType() != y.getElementType())
    return emitOpError("(C2) expects values of ")
           << RankedTensorType::get(shape, y.getElementType()) << ", found " << values;
  return success();
}

LogicalResult SumRowsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  RankedTensorType values = tensorType(operands[0]), index = tensorType(operands[1]);
  if (values.getRank() < index.getRank() ||
      values.getShape().take_front(index.getRank()) != index.getShape())
    return emitOptionalError(location, getOperationName(), ": (C1) expects values of a shape that ",
                             "begins with that of ", index, ", found ", values);
  if (adaptor.getExtentAttr().getInt() < 0)
    return emitOptionalError(location, getOperationName(),
                             ": (C2) expects an extent of 0 or more, ", "found ",
                             adaptor.getExtentAttr().getInt());
  results.append({values, index});
  return success();
}

int64_t SumRowsOp::getWidth() {
  return llvm::product_of(
      tensorType(getValues()).getShape().drop_front(tensorType(getIndex()).getRank()));
}
