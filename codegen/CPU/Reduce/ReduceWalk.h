//===- ReduceWalk.h - one walk over what reductions combine -------------------------*- C++ -*-===//
//
// The operands' index space is cut into axes that are wholly kept or wholly reduced; its last axis
// is walked in vectors.
//
//   rows      the last axis is reduced: one kept element at a time, vectors of partial results,
//             combined pairwise at the end
//   columns   the last axis is kept: vectors of kept elements, walked down the reduced axes
//
// Partial results are combined in blocks of blocks, never in one long chain, so that the error of a
// sum grows with the logarithm of its length; an innermost block is a tile (Reductions.h).
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_REDUCE_REDUCEWALK_H
#define DLC_CODEGEN_CPU_REDUCE_REDUCEWALK_H

#include "codegen/CPU/Reduce/Reductions.h"
#include "codegen/Kernel/MergedAxes.h"

namespace dlc::codegen {

/// Four chains of additions hide their latency, if their totals leave half of the registers free.
int64_t chainsOf(llvm::ArrayRef<dl::ReductionOp> reductions, const CpuTarget &target);

/// How elements are walked.
struct ReduceWalk {
  llvm::SmallVector<MergedAxis> axes;
  int64_t lanes = 1;   ///< of a vector
  int64_t vectors = 1; ///< columns: vectors side by side
  int64_t unroll = 1;  ///< turns of the innermost reduced loop at a time

  /// For `reductions` over these axes, of which there is one at least.
  static ReduceWalk get(llvm::ArrayRef<MergedAxis> axes, llvm::ArrayRef<dl::ReductionOp> reductions,
                        const CpuTarget &target);

  bool rows() const { return axes.back().reduced; }
  llvm::SmallVector<int64_t> extents(bool reduced) const;
  llvm::SmallVector<int64_t> space() const;
  /// The index space of units: a unit is a kept element (rows) or `vectors` vectors of them
  /// (columns).
  llvm::SmallVector<int64_t> unitSpace() const;
  /// Elements of the innermost reduced axis that one point stands for, and one turn of its loop.
  int64_t width() const { return rows() ? lanes : 1; }
  int64_t step() const { return width() * unroll; }
};

/// A reduction's operand at `point`, in the type of its total. Null if it cannot be computed.
mlir::Value reducedElement(CodeEmitter &e, BodyEmitter &body, mlir::Value operand,
                           const Point &point);

/// Emits the walk of one unit.
class ReduceEmitter {
public:
  /// An emitter for the spec's values.
  using Body = std::function<BodyEmitter()>;
  /// Does at each point, once, what else is to be done: stores, behind all loads of the point.
  using Store = std::function<mlir::LogicalResult(BodyEmitter &body, const Point &point)>;

  ReduceEmitter(KernelFunction &kernel, const ReduceWalk &plan, llvm::ArrayRef<dl::ReductionOp> ops,
                Body body, Store store)
      : reductions(kernel.e, ops), e(kernel.e), plan(plan), ops(ops), body(std::move(body)),
        store(std::move(store)) {}

  /// The unit at `unit` of the unit space, reduced over [lower, upper) of the first reduced axis:
  /// one for each vector of the unit (columns), or the one of scalars (rows).
  Partials reduce(llvm::ArrayRef<mlir::Value> unit, mlir::Value lower, mlir::Value upper);

  /// Where the kept elements of vector `number` of a unit stand.
  Point keptPoint(llvm::ArrayRef<mlir::Value> unit, int64_t number);

  Reductions reductions;
  mlir::LogicalResult result = mlir::success();

private:
  using Turn = llvm::function_ref<Partials(mlir::Value index, llvm::ArrayRef<Partial> totals)>;
  using Block = llvm::function_ref<Partials(mlir::Value lower, mlir::Value upper)>;
  Partials carry(mlir::Value lower, mlir::Value upper, int64_t step, const Partials &init,
                 Turn turn);
  Partials blocked(mlir::Value lower, mlir::Value upper, int64_t step, Block block);
  Partials level(size_t axis, mlir::Value lower, mlir::Value upper);
  Partials tile(mlir::Value lower, mlir::Value upper);
  Partials nothing(size_t count) { return Partials(count, reductions.none(plan.lanes)); }
  Partials merge(llvm::ArrayRef<Partial> a, llvm::ArrayRef<Partial> b);
  llvm::SmallVector<mlir::Value> walked(const Point &point);
  Point innermostPoint(mlir::Value index, int64_t vector, mlir::Value end);
  Point pointAt(llvm::ArrayRef<mlir::Value> reduced, int64_t vector, mlir::Value mask);

  CodeEmitter &e;
  const ReduceWalk &plan;
  llvm::ArrayRef<dl::ReductionOp> ops;
  Body body;
  Store store;
  llvm::ArrayRef<mlir::Value> unit;
  llvm::SmallVector<mlir::Value> reducedIndices;
};

/// Stores the results `numbers` at `point`, all of them computed before.
mlir::LogicalResult storeAt(KernelFunction &kernel, BodyEmitter &body,
                            llvm::ArrayRef<unsigned> numbers, const Point &point);

} // namespace dlc::codegen

#endif
