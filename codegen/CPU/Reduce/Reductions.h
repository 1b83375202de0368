//===- Reductions.h - partial results of a kernel's reductions ----------------------*- C++ -*-===//
//
// A sum, maximum or minimum is one value on its way. Moments are three: the number of elements,
// their mean, and the sum of squared deviations from it; two parts become one by Chan, Golub and
// LeVeque's formula. A division for each element would cost more than to read it, so elements are
// taken in tiles: within one, differences from its first element and their squares are summed, and
// the tile becomes a part when it is whole. As the origin is an element of the tile, its square is
// no larger than the tile's m2, and what rounding loses is bounded by the tile's length however far
// the mean is from zero.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_REDUCE_REDUCTIONS_H
#define DLC_CODEGEN_CPU_REDUCE_REDUCTIONS_H

#include "codegen/CPU/Emitter/CodeEmitter.h"

namespace dlc::codegen {

/// Slots of all reductions, one behind the other: scalars, or vectors of independent results.
using Partial = llvm::SmallVector<mlir::Value>;
/// Partial results of several vectors side by side, or of several chains of them.
using Partials = llvm::SmallVector<Partial>;

class Reductions {
public:
  Reductions(CodeEmitter &e, llvm::ArrayRef<dl::ReductionOp> reductions);

  /// The types of a partial result's slots as scalars, integers signless.
  static llvm::SmallVector<mlir::Type> slotTypes(llvm::ArrayRef<dl::ReductionOp> reductions);

  /// What has combined nothing, in or outside of a tile.
  Partial none(int64_t lanes);

  /// A tile's origins, a value a reduction, null where none is needed. `first` gives the first
  /// element of an operand.
  llvm::SmallVector<mlir::Value> origins(mlir::Value mask,
                                         llvm::function_ref<mlir::Value(mlir::Value)> first);
  /// Combines `elements`, a value a reduction, with a tile's total; lanes off `mask` do not count.
  Partial add(llvm::ArrayRef<mlir::Value> total, llvm::ArrayRef<mlir::Value> elements,
              llvm::ArrayRef<mlir::Value> origins, mlir::Value mask);
  /// Two totals of a tile as one.
  Partial join(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b);
  /// Joins totals of one tile pair by pair until `count` are left.
  Partials joinPairs(Partials totals, size_t count);
  /// The partial result of a tile.
  Partial finishTile(llvm::ArrayRef<mlir::Value> total, llvm::ArrayRef<mlir::Value> origins);

  /// Two partial results as one.
  Partial merge(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b);
  /// Of all lanes, in the same order always.
  Partial mergeLanes(llvm::ArrayRef<mlir::Value> partial, int64_t lanes);
  /// The reductions' results one behind the other, in their own types.
  llvm::SmallVector<mlir::Value> results(llvm::ArrayRef<mlir::Value> partial);

private:
  /// One reduction and its place among the slots.
  struct Item {
    dl::ReductionOp op;
    std::optional<dl::ReduceKind> kind; ///< none: moments
    mlir::Type element;                 ///< of its slots
    bool isUnsigned;
    size_t first; ///< slot
    size_t slots;
  };
  mlir::Value identity(const Item &item, int64_t lanes);
  mlir::Value combine(const Item &item, mlir::Value a, mlir::Value b);
  void mergeMoments(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b, Partial &result);
  mlir::Value atLeastOne(mlir::Value count);

  CodeEmitter &e;
  llvm::SmallVector<Item> items;
};

} // namespace dlc::codegen

#endif
