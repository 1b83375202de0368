//===- Storage.cpp - constants as bytes -------------------------------------------------------===//
#include "passes/Conversion/Storage.h"
#include "dialects/Program/Layout.h"

using namespace mlir;

namespace dlc {

DenseElementsAttr packConstant(DenseElementsAttr value, RankedTensorType type) {
  const auto physical = program::PhysicalLayout::get(type);
  Type element = type.getElementType();
  bool isBool = element.isInteger(1);
  if (isBool)
    element = IntegerType::get(type.getContext(), 8, IntegerType::Unsigned);
  auto elements = value.getValues<Attribute>();
  Builder builder(type.getContext());
  Attribute zero = isBool ? IntegerAttr::get(element, 0) : builder.getZeroAttr(element);
  SmallVector<Attribute> packed;
  for (int64_t i = 0; i < physical.elements; ++i) {
    SmallVector<int64_t> logical(type.getRank(), 0);
    for (const auto &dimension : physical.dimensions)
      logical[dimension.axis] += i / dimension.stride % dimension.extent * dimension.divisor;
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
  return DenseElementsAttr::get(RankedTensorType::get({physical.elements}, element), packed);
}

} // namespace dlc
