//===- Storage.cpp - how many bytes a tensor takes, and in which order they stand -------------===//
#include "passes/Conversion/Storage.h"
#include "dialects/DL/DLProgramOps.h"
#include "dialects/Exec/Memory.h"

using namespace mlir;

namespace dlc {

namespace {
/// A layout as a row-major physical shape: for each physical axis its logical axis, and its size.
struct PhysicalShape {
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> axes;
  /// Elements of the logical axis that one step along the physical axis moves over.
  SmallVector<int64_t> strides;

  explicit PhysicalShape(RankedTensorType type) {
    SmallVector<int64_t> outer(type.getShape()), order(llvm::to_vector(llvm::seq(type.getRank())));
    SmallVector<int64_t> outerStrides(type.getRank(), 1), blockAxes, blockSizes, blockStrides;
    if (auto layout = dyn_cast_or_null<dl::LayoutAttr>(type.getEncoding())) {
      order.assign(layout.getOrder().begin(), layout.getOrder().end());
      for (size_t i = 0; i + 1 < layout.getBlocks().size(); i += 2) {
        int64_t axis = layout.getBlocks()[i], size = layout.getBlocks()[i + 1];
        blockAxes.push_back(axis);
        blockSizes.push_back(size);
        blockStrides.push_back(outerStrides[axis]);
        outer[axis] = (outer[axis] + size - 1) / size;
        outerStrides[axis] *= size;
      }
    }
    for (int64_t axis : order)
      append(axis, outer[axis], outerStrides[axis]);
    for (auto [axis, size, stride] : llvm::zip(blockAxes, blockSizes, blockStrides))
      append(axis, size, stride);
  }

  int64_t count() const { return ShapedType::getNumElements(sizes); }

private:
  void append(int64_t axis, int64_t size, int64_t stride) {
    axes.push_back(axis);
    sizes.push_back(size);
    strides.push_back(stride);
  }
};
} // namespace

int64_t elementBytes(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

int64_t storageBytes(RankedTensorType type) {
  return PhysicalShape(type).count() * elementBytes(type.getElementType());
}

DenseElementsAttr packConstant(DenseElementsAttr value, RankedTensorType type) {
  PhysicalShape physical(type);
  Type element = type.getElementType();
  bool isBool = element.isInteger(1);
  if (isBool)
    element = IntegerType::get(type.getContext(), 8, IntegerType::Unsigned);
  auto elements = value.getValues<Attribute>();
  Builder builder(type.getContext());
  Attribute zero = isBool ? IntegerAttr::get(element, 0) : builder.getZeroAttr(element);
  SmallVector<Attribute> packed;
  for (int64_t i = 0, count = physical.count(); i < count; ++i) {
    SmallVector<int64_t> logical(type.getRank(), 0);
    int64_t rest = i;
    for (size_t k = physical.sizes.size(); k-- > 0; rest /= physical.sizes[k])
      logical[physical.axes[k]] += rest % physical.sizes[k] * physical.strides[k];
    bool padding = false;
    int64_t linear = 0;
    for (auto [index, size] : llvm::zip(logical, type.getShape())) {
      padding |= index >= size;
      linear = linear * size + index;
    }
    Attribute found = padding ? zero : elements[linear];
    if (isBool && !padding)
      found = IntegerAttr::get(element, cast<IntegerAttr>(found).getValue().getZExtValue());
    packed.push_back(found);
  }
  return DenseElementsAttr::get(RankedTensorType::get({physical.count()}, element), packed);
}

FlatLayout flatLayout(dl::MultiTensorOp op) {
  FlatLayout layout;
  for (int64_t i = 0; i < op.getCount(); ++i) {
    int64_t bytes = storageBytes(cast<RankedTensorType>(op.getTensor(0, i).getType()));
    layout.offsets.push_back(layout.total);
    layout.bytes.push_back(bytes);
    layout.total += exec::alignUp(bytes);
  }
  return layout;
}

} // namespace dlc
