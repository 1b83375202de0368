//===- DLPoints.h - anchors that say how an element is computed ---------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLPOINTS_H
#define DLC_DIALECTS_DL_DLPOINTS_H

#include "mlir/IR/OpDefinition.h"

namespace dlc::dl {
class PointBuilder;
} // namespace dlc::dl

#include "dialects/DL/DLPoints.h.inc"

#endif
