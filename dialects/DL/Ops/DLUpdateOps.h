//===- DLUpdateOps.h - updates of many tensors at once, and the numbers of a step ---*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLUPDATEOPS_H
#define DLC_DIALECTS_DL_OPS_DLUPDATEOPS_H

#include "dialects/DL/Ops/DLFusedOps.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLUpdateOps.h.inc"

#endif
