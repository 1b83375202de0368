//===- Pixels.cpp - see Pixels.h --------------------------------------------------------------===//
#include "dialects/DL/Formulas/Pixels.h"
#include "dialects/DL/Ops/DLConstantOps.h"
#include "dialects/DL/Ops/DLIndexOps.h"
#include <cmath>

using namespace mlir;

namespace dlc::dl::formulas {

/// The axes of size 1 in [N, C, H, 1, W, 1] -> [N, C, H, f, W, f] are dropped by the broadcast's
/// map, so x itself is what is repeated.
Value upsampleNearest(TensorBuilder &b, Value x, int64_t factor) {
  RankedTensorType type = b.typeOf(x);
  SmallVector<int64_t> wide(type.getShape().take_front(2)), result = wide, dims{0, 1};
  for (int64_t size : type.getShape().drop_front(2)) {
    dims.push_back(int64_t(wide.size()));
    wide.append({size, factor});
    result.push_back(size * factor);
  }
  return b.reshape(b.broadcast(x, type.clone(wide), dims), type.clone(result));
}

/// `numbers` as a tensor of one axis.
static Value vectorOf(TensorBuilder &b, Type element, ArrayRef<double> numbers) {
  SmallVector<Attribute> elements;
  for (double number : numbers)
    elements.push_back(isa<FloatType>(element)
                           ? Attribute(b.builder.getFloatAttr(element, number))
                           : b.builder.getIntegerAttr(element, int64_t(number)));
  auto type = RankedTensorType::get({int64_t(numbers.size())}, element);
  auto value = cast<ElementsAttr>(DenseElementsAttr::get(type, elements));
  return ConstantOp::create(b.builder, b.loc, type, value);
}

/// Between the two pixels beside each place along `axis`, by the distance from them.
static Value interpolate(TensorBuilder &b, Value x, int64_t axis, int64_t factor,
                         bool alignCorners) {
  const int64_t pixels = b.typeOf(x).getDimSize(axis), count = pixels * factor;
  std::vector<double> low, high, share;
  for (int64_t i = 0; i < count; ++i) {
    double place = alignCorners ? double(i * (pixels - 1)) / double(std::max<int64_t>(1, count - 1))
                                : std::max(0.0, (double(i) + 0.5) / double(factor) - 0.5);
    low.push_back(std::floor(place));
    high.push_back(std::min(low.back() + 1, double(pixels - 1)));
    share.push_back(place - low.back());
  }
  auto at = [&](ArrayRef<double> numbers) -> Value {
    return GatherOp::create(b.builder, b.loc, x, vectorOf(b, b.builder.getI32Type(), numbers),
                            axis);
  };
  Value before = at(low), behind = at(high);
  Value shares = vectorOf(b, b.typeOf(x).getElementType(), share);
  Value step = b.subtract(behind, before);
  return b.add(before, b.multiply(step, b.broadcast(shares, b.typeOf(before), {axis})));
}

Value upsampleBilinear(TensorBuilder &b, Value x, int64_t factor, bool alignCorners) {
  for (int64_t axis : {2, 3})
    x = interpolate(b, x, axis, factor, alignCorners);
  return x;
}

Value pixelShuffle(TensorBuilder &b, Value x, int64_t r) {
  RankedTensorType type = b.typeOf(x);
  ArrayRef<int64_t> shape = type.getShape();
  const int64_t channels = shape[1] / (r * r);
  Value split = b.reshape(x, type.clone({shape[0], channels, r, r, shape[2], shape[3]}));
  Value turned = TransposeOp::create(b.builder, b.loc, split, ArrayRef<int64_t>{0, 1, 4, 2, 5, 3});
  return b.reshape(turned, type.clone({shape[0], channels, shape[2] * r, shape[3] * r}));
}

Value poolInParts(TensorBuilder &b, bool isMaximum, Value x, int64_t axis, int64_t count) {
  SmallVector<int64_t> shape(b.typeOf(x).getShape()), starts(shape.size(), 0),
      steps(shape.size(), 1);
  const int64_t size = shape[axis];
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i) {
    starts[axis] = i * size / count;
    shape[axis] = ((i + 1) * size + count - 1) / count - starts[axis];
    Value part = SliceOp::create(b.builder, b.loc, x, starts, shape, steps);
    Value pooled = b.reduce(isMaximum ? ReduceKind::Max : ReduceKind::Sum, part, {axis});
    if (!isMaximum)
      pooled = b.scale(pooled, 1 / double(shape[axis]));
    shape[axis] = 1;
    parts.push_back(b.reshape(pooled, b.typeOf(x).clone(shape)));
  }
  return ConcatOp::create(b.builder, b.loc, parts, axis);
}

} // namespace dlc::dl::formulas
