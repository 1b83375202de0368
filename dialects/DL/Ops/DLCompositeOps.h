//===- DLCompositeOps.h - the composites of the dl dialect --------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLCOMPOSITEOPS_H
#define DLC_DIALECTS_DL_OPS_DLCOMPOSITEOPS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// The type of one number for each channel, axis 1, of a tensor; of an empty vector where there is
/// no such axis.
mlir::Type channelsType(mlir::Type type);

} // namespace dlc::dl

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLCompositeOps.h.inc"

#endif
