//===- DLLossOps.h - losses and accuracy of classes ---------------------------------*- C++ -*-===//
#ifndef DLC_DIALECTS_DL_OPS_DLLOSSOPS_H
#define DLC_DIALECTS_DL_OPS_DLLOSSOPS_H

#include "dialects/DL/DL.h"

#define GET_OP_CLASSES
#include "dialects/DL/Ops/DLLossOps.h.inc"

#endif
