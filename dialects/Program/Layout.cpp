//===- Layout.cpp - where a tensor's elements stand, and how many bytes they take -------------===//
#include "dialects/Program/Layout.h"

using namespace mlir;

namespace dlc::program {

PhysicalLayout PhysicalLayout::get(RankedTensorType type) {
  PhysicalLayout result;
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  ArrayRef<int64_t> blocks = layout ? layout.getBlocks() : ArrayRef<int64_t>();
  // What the blocks before `end` have taken of an axis: the first one is the innermost.
  auto takenOf = [&](int64_t axis, size_t end) {
    int64_t size = 1;
    for (size_t i = 0; i < end; i += 2)
      size *= blocks[i] == axis ? blocks[i + 1] : 1;
    return size;
  };
  for (int64_t place = 0; place < type.getRank(); ++place) {
    int64_t axis = layout ? layout.getOrder()[place] : place, block = takenOf(axis, blocks.size());
    result.rowMajor &= axis == place && block == 1;
    int64_t extent = llvm::divideCeilSigned(type.getDimSize(axis), block);
    result.dimensions.push_back({axis, block, extent, 1});
  }
  for (size_t i = 0; i < blocks.size(); i += 2)
    result.dimensions.push_back({blocks[i], takenOf(blocks[i], i), blocks[i + 1], 1});
  for (Dimension &dimension : llvm::reverse(result.dimensions)) {
    dimension.stride = result.elements;
    result.elements *= dimension.extent;
  }
  return result;
}

bool keepsLeadingAxis(LayoutAttr layout) {
  if (!layout || layout.getOrder().empty())
    return true;
  for (size_t i = 0; i < layout.getBlocks().size(); i += 2)
    if (layout.getBlocks()[i] == 0)
      return false;
  return layout.getOrder().front() == 0;
}

int64_t elementBytes(Type element) { return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8); }

int64_t elementsOfByte(Type element) {
  const unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 1 || bits > 8 ? 1 : 8 / bits;
}

int64_t storageBytes(RankedTensorType type) {
  Type element = type.getElementType();
  return llvm::divideCeil(PhysicalLayout::get(type).elements, elementsOfByte(element)) *
         elementBytes(element);
}

} // namespace dlc::program
