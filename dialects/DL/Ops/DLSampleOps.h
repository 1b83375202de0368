//===- DLSampleOps.h - images read at places that a tensor gives --------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLSAMPLEOPS_H
#define DLC_DIALECTS_DL_OPS_DLSAMPLEOPS_H

#include "dialects/DL/DL.h"
#include "dialects/DL/DLPoints.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLSampleOps.h.inc"

#endif
