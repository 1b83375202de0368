//===- PartialResults.h - partial results of reductions between two phases ----------*- C++ -*-===//
//
// Where tasks reduce pieces of what is combined to one element, they leave partial results in the
// workspace, and a later phase merges the pieces of each element in ascending order: nothing
// depends on the number of threads.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_REDUCE_PARTIALRESULTS_H
#define DLC_CODEGEN_CPU_REDUCE_PARTIALRESULTS_H

#include "codegen/CPU/Emitter/Walk.h"
#include "codegen/CPU/Reduce/Reductions.h"

namespace dlc::codegen {

/// Those of all of a spec's reductions, in the workspace from byte `base` on: [slot][piece][kept].
class PartialResults {
public:
  PartialResults(const KernelSpec &spec, int64_t pieces, int64_t kept, int64_t base = 0);

  /// Of all of them.
  int64_t bytes() const { return size; }

  /// A piece of the `width` kept elements from `place` on: scalars, or vectors of the lanes that
  /// exist.
  Partial load(KernelFunction &kernel, mlir::Value piece, mlir::Value place, int64_t width = 1,
               mlir::Value mask = {}) const;
  void store(KernelFunction &kernel, llvm::ArrayRef<mlir::Value> partial, mlir::Value piece,
             mlir::Value place, int64_t width = 1, mlir::Value mask = {}) const;

  /// How the merging phase walks the kept elements, numbered by `space`.
  WalkPlan mergePlan(llvm::ArrayRef<int64_t> space, const CpuTarget &target) const;
  /// The merging phase: stores the results `numbers`, all of which wait for reductions.
  mlir::LogicalResult emitMerge(KernelFunction &kernel, llvm::ArrayRef<int64_t> space,
                                llvm::ArrayRef<unsigned> numbers) const;

private:
  mlir::Value slotAt(KernelFunction &kernel, size_t slot) const;
  Partial mergePieces(KernelFunction &kernel, Reductions &reductions, const Point &point) const;

  int64_t pieces, kept;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<int64_t> offsets; ///< of the slots, in bytes: each begins at a cache line
  int64_t size = 0;
};

/// The number of a point's first element in row-major order.
mlir::Value linearIndex(CodeEmitter &e, const Point &point);

} // namespace dlc::codegen

#endif
