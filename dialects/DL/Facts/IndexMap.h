//===- IndexMap.h - where the elements of an index op's result come from ------------*- C++ -*-===//
//
// A small affine description that passes can read and that one routine turns into code for every
// target. Its axes need not be those of the tensors: an index space is any shape with as many
// elements in row-major order, and neighbouring axes that are treated alike are one.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FACTS_INDEXMAP_H
#define DLC_DIALECTS_DL_FACTS_INDEXMAP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dlc::dl {

struct IndexMap {
  /// An axis of the operand. Its index is (scale * i + offset) / divisor, where i is the result's
  /// index along `from`. Where that is no whole number in [0, extent) the operand does not have the
  /// element.
  struct Axis {
    int64_t extent;
    int64_t from;
    int64_t scale = 1, offset = 0, divisor = 1;
    /// Not 0: the op's operand `lookup` gives the index, its element i counted in row-major order.
    unsigned lookup = 0;
  };

  llvm::SmallVector<int64_t> result; ///< index space of the result
  llvm::SmallVector<Axis> operand;   ///< index space of the operand; axes left out have one element

  /// Of a result of the shape `result`, with the fewest axes.
  static IndexMap get(llvm::ArrayRef<int64_t> result, llvm::ArrayRef<Axis> operand);

  /// Whether the axis is one of the result's, as it stands.
  bool isWhole(const Axis &axis) const {
    return axis.scale == 1 && axis.offset == 0 && axis.divisor == 1 && axis.lookup == 0 &&
           axis.extent == result[axis.from];
  }
  /// Whether the result has all elements of the operand, and no others.
  bool isWhole() const {
    return llvm::all_of(operand, [this](const Axis &axis) { return isWhole(axis); });
  }
  /// Whether some index of the result leads beyond the axis, or between two of its elements.
  bool mayMiss(const Axis &axis) const;
  /// Whether the result has the operand's elements in the operand's order.
  bool isIdentity() const;
  /// Whether the operand's axes stand in the result in their order.
  bool keepsOrder() const;
  /// Whether elements of the operand stand in the result several times.
  bool repeats() const { return operand.size() < result.size(); }
};

} // namespace dlc::dl

#endif
