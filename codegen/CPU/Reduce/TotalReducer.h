//===- TotalReducer.h - totals of what a product has just computed ------------------*- C++ -*-===//
//
// Reductions behind a product (KernelSpec::hasReductionsBehind) that leave one number: the sum of a
// loss over what the product gives. A task combines the vectors that it writes, tile by tile, and
// leaves one partial result; a phase behind the product's merges those of all tasks
// (PartialResults.h). Tasks follow from sizes, and each writes its tiles in one order.
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_REDUCE_TOTALREDUCER_H
#define DLC_CODEGEN_CPU_REDUCE_TOTALREDUCER_H

#include "codegen/CPU/Reduce/PartialResults.h"

namespace dlc::codegen {

/// Whether the spec's reductions behind the anchor, and all that waits for them, are single numbers
/// of float32, none of them moments.
bool canReduceTotals(const KernelSpec &spec);
/// Adds to the last phase of a candidate, which writes the product, the scratch that totals need,
/// and says that each of its tasks is a piece.
void keepTotals(const KernelSpec &spec, const CpuTarget &target, Candidate &candidate);

/// Combines what one task writes. Does nothing where there are no reductions behind the anchor.
class TotalReducer {
public:
  /// `phase`: the one that writes the product, which keepTotals has changed.
  TotalReducer(KernelFunction &kernel, const Candidate &candidate, unsigned phase);

  bool exist() const { return reductions.has_value(); }
  /// Before anything is written.
  void begin();
  /// Nothing combined, in vectors; empty where there are no reductions.
  Partial none();
  Partial add(mlir::ValueRange before, llvm::ArrayRef<mlir::Value> elements, mlir::Value mask);
  /// One more part of the task.
  void take(llvm::ArrayRef<mlir::Value> part);
  /// When all is written.
  void end(mlir::Value piece);

private:
  mlir::Value slotAt(size_t slot);
  Partial load();
  void store(llvm::ArrayRef<mlir::Value> partial);

  KernelFunction &kernel;
  CodeEmitter &e;
  std::optional<Reductions> reductions;
  std::optional<PartialResults> results;
  int64_t offset = 0; ///< in scratch, bytes
};

} // namespace dlc::codegen

#endif
