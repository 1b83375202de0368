//===- OutlineKernels.h - regions become kernels, equal ones share one --------------*- C++ -*-===//
#ifndef DLC_PASSES_CONVERSION_OUTLINEKERNELS_H
#define DLC_PASSES_CONVERSION_OUTLINEKERNELS_H

#include "dialects/DL/Ops/DLFusedOps.h"
#include "dialects/Exec/Exec.h"
#include "llvm/ADT/StringMap.h"

namespace dlc::dl {
class MultiTensorOp;
class UpdateRowsOp;
} // namespace dlc::dl

namespace dlc {

/// Creates the exec.kernels of a module, before `before`. A kernel is named k_<16 hexadecimal
/// digits>: the hash of its text without locations and names.
class KernelOutliner {
public:
  explicit KernelOutliner(mlir::Operation *before) : before(before) {}

  /// The kernel for one dl.fused: buffers are its operands, then its results. If dl-choose has been
  /// there, its choice is the kernel's schedule.
  exec::KernelOp outline(dl::FusedOp fused);

  /// The kernel for one dl.multi_tensor: buffers are a flat one a stream, `each`, the scalars, the
  /// table of pieces and, where there are sums, the first piece of each tensor; then a flat one a
  /// yielded element, and the sums.
  exec::KernelOp outline(dl::MultiTensorOp multi);
  exec::KernelOp outline(dl::UpdateRowsOp update);

private:
  exec::KernelOp outlineOnce(dl::FusedOp fused);
  exec::KernelOp create(mlir::Operation *source, llvm::ArrayRef<exec::ArgumentAttr> buffers,
                        llvm::ArrayRef<exec::InPlaceAttr> inPlace, program::CandidateAttr candidate,
                        llvm::function_ref<void(mlir::Region &)> fill);

  mlir::Operation *before;
  llvm::StringMap<exec::KernelOp> kernels; ///< by text
  /// By the hash of their regions, those whose texts are known.
  llvm::DenseMap<size_t, llvm::SmallVector<std::pair<dl::FusedOp, exec::KernelOp>, 1>> outlined;
};

} // namespace dlc

#endif
