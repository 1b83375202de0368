//===- DLFusedOps.h - regions that become kernels -----------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_DLFUSEDOPS_H
#define DLC_DIALECTS_DL_DLFUSEDOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/DLFusedOps.h.inc"

#endif
