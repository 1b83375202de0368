//===- DLRecurrentOps.h - the recurrent layers of the dl dialect --------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLRECURRENTOPS_H
#define DLC_DIALECTS_DL_OPS_DLRECURRENTOPS_H

#include "dialects/DL/DL.h"

namespace dlc::dl {

/// Of a layer whose input is of type `x`, [steps, samples, gates * units]: one state, [samples,
/// units]; all of them, [steps + 1, samples, units]; the weight from states to gates, [gates *
/// units, units]. Of no elements where `x` has not three axes.
mlir::Type stateType(mlir::Type x, int64_t gates);
mlir::Type statesType(mlir::Type x, int64_t gates);
mlir::Type stateWeightType(mlir::Type x, int64_t gates);

} // namespace dlc::dl

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLRecurrentOps.h.inc"

#endif
