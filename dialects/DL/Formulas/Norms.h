//===- Norms.h - running statistics of norms ----------------------------------------*- C++ -*-===//
//
// The norms themselves are ops (Ops/DLCompositeOps.td).
//
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_DIALECTS_DL_FORMULAS_NORMS_H
#define DLC_DIALECTS_DL_FORMULAS_NORMS_H

#include "dialects/DL/Builders/TensorBuilder.h"

namespace dlc::dl::formulas {

/// What a running mean is behind a batch with the mean `now`.
mlir::Value runningMean(TensorBuilder &b, mlir::Value running, mlir::Value now, double momentum);
/// What a running variance is behind a batch of `count` elements with the variance `now`:
/// PyTorch's, of the unbiased variance. `ranks` is null, or 1 by the number of ranks that have
/// `count` each.
mlir::Value runningVariance(TensorBuilder &b, mlir::Value running, mlir::Value now, double momentum,
                            int64_t count, mlir::Value ranks);

} // namespace dlc::dl::formulas

#endif
