//===- DLMatmulOps.h - products of matrices -----------------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLMATMULOPS_H
#define DLC_DIALECTS_DL_OPS_DLMATMULOPS_H

#include "dialects/DL/DL.h"
#include "dialects/DL/DLPoints.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLMatmulOps.h.inc"

#endif
