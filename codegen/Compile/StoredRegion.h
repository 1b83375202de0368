//===- StoredRegion.h - a region in given layouts -----------------------------------*- C++ -*-===//
#ifndef DLC_CODEGEN_COMPILE_STOREDREGION_H
#define DLC_CODEGEN_COMPILE_STOREDREGION_H

#include "codegen/Kernel/KernelSpec.h"
#include "dialects/DL/Ops/DLFusedOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/DL/Choice/CandidateSource.h"

namespace dlc::codegen {

/// Of all operands of a region, then of all results.
llvm::SmallVector<mlir::RankedTensorType> storedTypes(dl::FusedOp region);
/// The convolution that the region runs; null if there is none.
mlir::Operation *convolutionOf(dl::FusedOp region);

/// A copy of a region whose types have no layouts yet, in given ones, as it will be outlined.
class StoredRegion {
public:
  StoredRegion(dl::FusedOp region, const dl::Layouts &layouts);
  mlir::FailureOr<KernelSpec> spec() { return KernelSpec::get(block()); }
  /// Whether no operand and no result has a layout left.
  bool isRowMajor();

private:
  mlir::Block &block() { return copy->getBody().front(); }
  mlir::OwningOpRef<dl::FusedOp> copy;
};

} // namespace dlc::codegen

#endif
