//===- Element.h - an element in memory, and on its way -----------------------------*- C++ -*-===//
//
// What multiplies and adds up computes in f32, in f64 for f64. Floats of 16 bits are widened while
// they are packed or read, and what is finished is rounded once, where it leaves the sum.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_ELEMENT_H
#define DLC_CODEGEN_CPU_ELEMENT_H

#include "codegen/CPU/CpuTarget.h"

namespace dlc::codegen {

/// Bytes of a cache line.
inline constexpr int64_t lineBytes = 64;

struct Element {
  mlir::Type stored;   ///< in the anchor's operands and results
  mlir::Type computed; ///< in what is packed, in registers and in sums

  /// Of the anchor.
  static Element of(const KernelSpec &spec) {
    mlir::Type stored = mlir::getElementTypeOrSelf(spec.anchorOp()->getResult(0));
    return {stored, accumulatorType(stored)};
  }

  bool widens() const { return stored != computed; }
  int64_t storedBytes() const { return program::elementBytes(stored); }
  int64_t bytes() const { return program::elementBytes(computed); }
  /// Computed elements of a vector register, and of a cache line.
  int64_t lanes(const CpuTarget &target) const { return target.vectorBytes / bytes(); }
  int64_t line() const { return lineBytes / bytes(); }
  /// Stored elements of a cache line.
  int64_t storedLine() const { return lineBytes / storedBytes(); }
};

/// What stands in a place of a packed operand, which has the bytes of a computed element: one of
/// those, or neighbours along the sum as they are stored; zeros behind its end.
struct PackedFormat {
  mlir::Type element;
  int64_t numbers = 1;
};

/// A sum that an operand is packed for: how, and of how many numbers it is.
struct PackedSum {
  PackedFormat format;
  int64_t length = 0;
};

} // namespace dlc::codegen

#endif
