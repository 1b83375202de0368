//===- DLReductionOps.h - sums, extremes, moments; sums over ranks ------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLREDUCTIONOPS_H
#define DLC_DIALECTS_DL_OPS_DLREDUCTIONOPS_H

#include "dialects/DL/DL.h"
#include "dialects/DL/DLPoints.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLReductionOps.h.inc"

#endif
