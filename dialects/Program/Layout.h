//===- Layout.h - where a tensor's elements stand, and how many bytes they take -----*- C++ -*-===//
//
// The compiler's one reading of #program.layout. The runtime's is runtime/Core/Layout.h, which may
// not know this one.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_PROGRAM_LAYOUT_H
#define DLC_DIALECTS_PROGRAM_LAYOUT_H

#include "dialects/Program/Program.h"

namespace dlc::program {

/// Where a tensor's elements stand: logical axes first split by blocks, then permuted.
struct PhysicalLayout {
  /// One physical dimension: index = (logical index of `axis` / divisor) % extent, `stride`
  /// elements apart.
  struct Dimension {
    int64_t axis, divisor, extent, stride;
  };
  llvm::SmallVector<Dimension> dimensions; ///< outermost first
  bool rowMajor = true;
  int64_t elements = 1; ///< padding included

  static PhysicalLayout get(mlir::RankedTensorType type);
};

/// Whether what stands at one place of the leading axis stands in one piece, and these pieces in
/// their order. A null layout is row-major.
bool keepsLeadingAxis(LayoutAttr layout);
/// Bytes of one stored element: bool is one byte.
int64_t elementBytes(mlir::Type element);
/// Elements that a byte holds: several of numbers with less than eight bits, the first in the
/// lowest bits.
int64_t elementsOfByte(mlir::Type element);
/// Bytes of a tensor in memory, padding of its layout included.
int64_t storageBytes(mlir::RankedTensorType type);

} // namespace dlc::program

#endif
