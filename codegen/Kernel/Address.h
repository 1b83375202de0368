//===- Address.h - from a tensor's index to where it stands, and back ---------------*- C++ -*-===//
//
// Written once for the builders of both targets: `Arithmetic` has add(Value, Value), and mul, div
// and rem of a Value by a number, of indices that are not negative.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNEL_ADDRESS_H
#define DLC_CODEGEN_KERNEL_ADDRESS_H

#include "dialects/Program/Layout.h"

namespace dlc::codegen {

/// The index along a physical dimension, of the index along its axis, which has `extent` elements.
template <typename Arithmetic>
mlir::Value physicalIndex(Arithmetic &&a, const program::PhysicalLayout::Dimension &dimension,
                          int64_t extent, mlir::Value index) {
  if (dimension.divisor != 1)
    index = a.div(index, dimension.divisor);
  if (dimension.divisor * dimension.extent < extent)
    index = a.rem(index, dimension.extent);
  return index;
}

/// The index along each axis, of the indices along the physical dimensions; in padding it is beyond
/// the axis.
template <typename Arithmetic>
llvm::SmallVector<mlir::Value> logicalIndices(Arithmetic &&a, const program::PhysicalLayout &layout,
                                              int64_t rank, llvm::ArrayRef<mlir::Value> physical) {
  llvm::SmallVector<mlir::Value> indices(rank);
  for (auto [dimension, index] : llvm::zip_equal(layout.dimensions, physical)) {
    mlir::Value part = a.mul(index, dimension.divisor), &whole = indices[dimension.axis];
    whole = whole ? a.add(whole, part) : part;
  }
  return indices;
}

} // namespace dlc::codegen

#endif
