//===- DLFusedOps.h - regions that become kernels -----------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLFUSEDOPS_H
#define DLC_DIALECTS_DL_OPS_DLFUSEDOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLFusedOps.h.inc"

#endif
